// Reports in which no two fields have the same value, so that a field which is swapped, dropped or scaled shows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyze/report.h"
#include "report/findings/finding_data.h"

namespace turnpike::report {

inline analyze::Source distinct_source() {
  analyze::Source source;
  source.kind = "mixed";
  source.paths = {"rank0.tpk", "rank1.tpk"};
  source.process_count = 2;
  source.devices = {{.id = 3,
                     .name = "GPU model A",
                     .memory_bytes = 80'100'000'000,
                     .numa_node = 7,
                     .pcie_generation = 4,
                     .pcie_width = 8,
                     .pcie_max_generation = 6,
                     .pcie_max_width = 16},
                    {.id = 5, .name = "GPU model B", .memory_bytes = 40'200'000'000}};
  source.program = "python train.py --epochs 9";
  source.versions = {{"python", "3.12.3"}, {"torch", "2.11.0"}};
  source.detail = "full";
  source.unusable = {"The first reason.", "The second reason."};
  source.hosts = {"box-a", "box-b"};
  source.inputs.unreadable = {"a.tpt cannot be read.", "b.tpt cannot be read."};
  source.inputs.notes = {"The first doubt.", "The second doubt."};
  source.inputs.unread = {{"damaged_bytes", 94721}, {"not_closed", 94720}};
  source.identities = {{.pid = 94711,
                        .host = "pod-a",
                        .node = "node-b",
                        .job_id = "job 17",
                        .launcher = "torchrun slurm",
                        .rank = 9013,
                        .local_rank = 9005,
                        .world_size = 9032,
                        .local_world_size = 9008,
                        .node_rank = 9001,
                        .restart_count = 9002,
                        .self_time = {{.count = 94715, .ns = 94'716'000}}}};
  analyze::Identity& other = source.identities.emplace_back();
  other.pid = 94712;
  other.self_time = {.count = 94717, .ns = 94'718'000};
  source.kept = {.last_ns = 94'713'000, .of_ns = 94'714'000, .because = {"The first cause.", "The second cause."}};
  return source;
}

inline std::array<analyze::Total, analyze::kDirectionCount> distinct_totals() {
  return {analyze::Total{.count = 201,
                         .bytes = 201'300'000,
                         .device_time_ns = 24'500'000,
                         .host_blocked_ns = 61'700'000,
                         .pageable_count = 101,
                         .pageable_bytes = 51'900'000,
                         .bandwidth_gbps = 8.216,
                         .link_gbps = 55.25,
                         .link_source = analyze::LinkSource::kMeasured,
                         .link_basis = "link A"},
          analyze::Total{.count = 202,
                         .bytes = 302'400'000,
                         .device_time_ns = 25'600'000,
                         .host_blocked_ns = 72'800'000,
                         .pageable_count = 102,
                         .pageable_bytes = 162'100'000,
                         .bandwidth_gbps = 11.81,
                         .link_gbps = 53.75,
                         .link_source = analyze::LinkSource::kLearnt,
                         .link_basis = "link B"},
          analyze::Total{.count = 203,
                         .bytes = 403'500'000,
                         .device_time_ns = 26'700'000,
                         .host_blocked_ns = 83'900'000,
                         .pageable_count = 103,
                         .pageable_bytes = 273'200'000,
                         .bandwidth_gbps = 1511.2,
                         .link_gbps = 1800.5,
                         .link_source = analyze::LinkSource::kGeneration,
                         .link_basis = "link C"},
          analyze::Total{.count = 204,
                         .bytes = 504'600'000,
                         .device_time_ns = 27'800'000,
                         .host_blocked_ns = 95'100'000,
                         .pageable_count = 104,
                         .pageable_bytes = 384'300'000,
                         .bandwidth_gbps = 181.5,
                         .link_gbps = 390.25,
                         .link_source = analyze::LinkSource::kModel,
                         .link_basis = "link D"},
          analyze::Total{.count = 205,
                         .bytes = 605'700'000,
                         .device_time_ns = 28'900'000,
                         .host_blocked_ns = 106'200'000,
                         .pageable_count = 105,
                         .pageable_bytes = 495'400'000,
                         .bandwidth_gbps = 20.95,
                         .link_gbps = 88.5,
                         .link_source = analyze::LinkSource::kMeasured,
                         .link_basis = "link E"},
          analyze::Total{.count = 206,
                         .bytes = 706'800'000,
                         .device_time_ns = 31'100'000,
                         .host_blocked_ns = 117'300'000,
                         .pageable_count = 106,
                         .pageable_bytes = 606'500'000,
                         .bandwidth_gbps = 2272.7,
                         .link_gbps = 2500.75,
                         .link_source = analyze::LinkSource::kLearnt,
                         .link_basis = "link F"}};
}

inline analyze::HostThread distinct_thread() {
  analyze::HostThread thread;
  thread.thread = 4711;
  thread.name = "pt_main_thread";
  thread.role = analyze::ThreadRole::kMain;
  thread.launches = 30'011;
  thread.calls_pct = 12.25;
  thread.waits_pct = 38.5;
  thread.between_pct = 49.75;
  thread.python_pct = 64.5;
  thread.operator_pct = 35.25;
  thread.busiest_lines = {"busy.py:31 (41 %)", "busy.py:32 (22 %)"};
  return thread;
}

inline analyze::Verdict distinct_verdict() {
  analyze::Verdict verdict;
  verdict.bound_by = analyze::Bound::kTransfer;
  verdict.gpu_busy_pct = 31.25;
  verdict.gpu_idle_pct = 46.5;
  verdict.exposed_transfer_pct = 21.75;
  verdict.exposed_collective_pct = 13.25;
  verdict.why = "The reason of the verdict.";
  verdict.idle = analyze::IdleShares{.copies_pct = 16.25,
                                     .syncs_pct = 10.5,
                                     .allocations_pct = 1.125,
                                     .input_pct = 7.75,
                                     .launch_pct = 6.5,
                                     .quiet_pct = 4.25,
                                     .between_kernels_pct = 0.375,
                                     .other_devices_pct = 0.4375,
                                     .unrecorded_pct = 0.875};
  verdict.launch_lead = analyze::Spread{.p10_ns = 1'510, .median_ns = 2'620, .p90_ns = 41'300};
  verdict.steps_by_bound = {{analyze::Bound::kSync, 38}, {analyze::Bound::kTransfer, 911}};
  verdict.threads = {distinct_thread()};
  return verdict;
}

inline std::vector<analyze::RangeVerdict> distinct_ranges() {
  analyze::Verdict forward;
  forward.bound_by = analyze::Bound::kLaunch;
  forward.gpu_busy_pct = 33.75;
  forward.gpu_idle_pct = 59.25;
  forward.exposed_transfer_pct = 5.5;
  forward.exposed_collective_pct = 11.25;
  forward.why = "The reason of the first range.";
  forward.idle = analyze::IdleShares{.copies_pct = 18.25,
                                     .syncs_pct = 14.5,
                                     .allocations_pct = 1.375,
                                     .input_pct = 9.75,
                                     .launch_pct = 8.5,
                                     .quiet_pct = 3.25,
                                     .between_kernels_pct = 0.625,
                                     .other_devices_pct = 0.6875,
                                     .unrecorded_pct = 2.125};
  analyze::Verdict backward;
  backward.bound_by = analyze::Bound::kInput;
  backward.gpu_busy_pct = 71.25;
  backward.gpu_idle_pct = 27.5;
  backward.exposed_transfer_pct = 1.75;
  backward.exposed_collective_pct = 12.5;
  backward.why = "The reason of the second range.";
  backward.idle = analyze::IdleShares{.copies_pct = 19.25,
                                      .syncs_pct = 15.5,
                                      .allocations_pct = 1.625,
                                      .input_pct = 13.75,
                                      .launch_pct = 0.5,
                                      .quiet_pct = 2.25,
                                      .between_kernels_pct = 0.125,
                                      .other_devices_pct = 0.1875,
                                      .unrecorded_pct = 2.375};
  return {{.name = "forward", .count = 947, .total_ns = 1'201'000'000, .verdict = forward},
          {.name = "backward", .count = 948, .total_ns = 1'802'000'000, .verdict = backward}};
}

inline analyze::MemoryUse distinct_memory() {
  analyze::MemoryUse memory;
  memory.peak_resident_bytes = 3'210'000'000;
  memory.peak_device_bytes = 1'120'000'000;
  memory.peak_pinned_bytes = 25'300'000;
  memory.sites = {{.site = "memory.py:12", .kind = analyze::AllocationKind::kDevice, .bytes = 901'000'000, .count = 12},
                  {.site = "memory.py:13", .kind = analyze::AllocationKind::kPinned, .bytes = 24'200'000, .count = 13}};
  memory.points = {
      {.time_ns = 100'500, .resident_bytes = 3'110'000'000, .device_bytes = 1'020'000'000, .pinned_bytes = 15'100'000},
      {.time_ns = 200'600, .resident_bytes = 3'111'000'000, .device_bytes = 1'021'000'000, .pinned_bytes = 15'200'000}};
  return memory;
}

// Of the place `number` (1 to 9): all that idle time may have.
inline analyze::IdleSite distinct_idle_site(std::uint32_t number, analyze::IdleCause cause) {
  const std::string n = std::to_string(number);
  const std::int64_t i = number;
  analyze::IdleSite site;
  site.site = "idle" + n + ".py:9" + n;
  site.file = "/home/me/idle" + n + ".py";
  site.line = 90 + number;
  site.function = "idling" + n;
  site.op = "aten::idle" + n;
  site.phase = analyze::Phase::kForward;
  site.forward_site = "idle_model.py:9" + n;
  site.library_site = "lib: idle.py:8" + n;
  site.device = 30 + number;
  site.cause = cause;
  site.count = 510 + number;
  site.time_ns = 8'700'000 + 10'000 * i;
  site.in_steps_count = 490 + number;
  site.in_steps_ns = 8'200'000 + 10'000 * i;
  return site;
}

// Of the place `number` (1 to 9): all that a transfer may have.
inline analyze::Site distinct_site(std::uint32_t number, analyze::Direction direction, analyze::Phase phase) {
  const std::string n = std::to_string(number);
  const std::int64_t i = number;
  analyze::Site site;
  site.site = "place" + n + ".py:2" + n;
  site.file = "/home/me/place" + n + ".py";
  site.line = 20 + number;
  site.function = "function" + n;
  site.op = "aten::op" + n;
  site.inner_op = "aten::inner" + n;
  site.api = "cudaApi" + n;
  site.phase = phase;
  site.direction = direction;
  site.src_kind = "source" + n;
  site.dst_kind = "target" + n;
  site.forward_site = "model.py:4" + n;
  site.library_site = "lib: upload.py:6" + n;
  site.streams = {50 + number, 60 + number};
  site.stack = {"inner" + n + " (/home/me/stack.py:1)", "outer" + n + " (/home/me/stack.py:2)"};
  site.in_graph = number % 2 == 0;
  site.count = 310 + number;
  site.bytes = 41'000'000 + 110'000 * number;
  site.blocked_count = 150 + number;
  site.device_time_ns = 5'100'000 + 10'000 * i;
  site.host_blocked_ns = 6'200'000 + 10'000 * i;
  site.exposed_ns = 4'300'000 + 10'000 * i;
  site.gpu_idle_ns = 3'400'000 + 10'000 * i;
  site.overlapped_pct = 80.125 + number;
  site.bandwidth_gbps = 7.015 + 0.1 * number;
  site.in_steps = {.count = 290 + number,
                   .bytes = 31'000'000 + 110'000ull * number,
                   .device_time_ns = 4'600'000 + 10'000 * i,
                   .host_blocked_ns = 5'700'000 + 10'000 * i,
                   .exposed_ns = 3'800'000 + 10'000 * i};
  return site;
}

inline analyze::SyncSite distinct_sync_site(std::uint32_t number, analyze::Phase phase) {
  const std::string n = std::to_string(number);
  const std::int64_t i = number;
  analyze::SyncSite site;
  site.site = "wait" + n + ".py:7" + n;
  site.file = "/home/me/wait" + n + ".py";
  site.line = 70 + number;
  site.function = "waiting" + n;
  site.op = "aten::item" + n;
  site.api = "cudaSynchronize" + n;
  site.phase = phase;
  site.forward_site = "loss.py:8" + n;
  site.library_site = "lib: wait.py:7" + n;
  site.stack = {"waits" + n + " (/home/me/stack.py:3)"};
  site.count = 410 + number;
  site.of_transfers_count = 420 + number;
  site.host_blocked_ns = 7'500'000 + 10'000 * i;
  site.of_transfers_host_blocked_ns = 6'800'000 + 10'000 * i;
  site.gpu_idle_ns = 5'900'000 + 10'000 * i;
  site.in_steps = {.count = 390 + number,
                   .host_blocked_ns = 7'000'000 + 10'000 * i,
                   .of_transfers_count = 370 + number,
                   .of_transfers_host_blocked_ns = 6'300'000 + 10'000 * i};
  return site;
}

inline analyze::CallPaths distinct_paths() {
  analyze::CallPaths paths;
  paths.frames = {{"path.py:91", "", "/home/me/path.py", "pathed"},
                  {"lib: path/inner.py:92", "lib", "/p/site-packages/lib/path/inner.py", "Inner.forward"}};
  paths.nodes = {{analyze::kNoParent, 0}, {0, 1}};
  paths.costs = {{.node = 1,
                  .what = "aten::pathed",
                  .direction = analyze::Direction::kPeerToPeer,
                  .count = 931,
                  .bytes = 932'000,
                  .device_time_ns = 933'000,
                  .host_blocked_ns = 934'000,
                  .exposed_ns = 935'000,
                  .gpu_idle_ns = 936'000}};
  return paths;
}

inline std::vector<analyze::Finding> distinct_findings() {
  analyze::Finding leading;
  leading.rule = "implicit_sync";
  leading.severity = analyze::Severity::kWarning;
  leading.title = "The title of the first finding";
  leading.site = "finding.py:31";
  leading.saving_ns = 880'000'000;
  leading.saving_step_ns = 939'000;
  leading.saving_pct = 29.25;
  leading.evidence = "The evidence of the first.";
  leading.advice = "The advice of the first.";
  leading.docs = "docs/rules/first.md";
  leading.library_site = "lib: finding.py:71";
  leading.saving_step_low_ns = 717'000;
  leading.saving_step_high_ns = 1'161'000;
  leading.saving_reason = "the reason of the first range";
  leading.saving_step_expected_ns = 929'000;
  leading.alternatives = {{.advice = "Another way of the first.",
                           .saving_step_low_ns = 513'000,
                           .saving_step_high_ns = 957'000,
                           .saving_step_expected_ns = 735'000},
                          {.advice = "A third way."}};
  leading.file = "/whole/path/of/first.py";
  leading.line = 6231;
  leading.function = "function_of_first";
  leading.op = "aten::first";
  leading.per_step = {.calls = 411.5, .bytes = 6331.5, .host_ns = 6332.5, .device_ns = 6333.5};
  analyze::Finding followed;
  followed.rule = "blocking_copy";
  followed.severity = analyze::Severity::kError;
  followed.title = "The title of the second finding";
  followed.site = "finding.py:32";
  followed.saving_ns = 770'000'000;
  followed.saving_step_ns = 828'000;
  followed.saving_pct = 25.75;
  followed.superseded_by = "fine_rule";
  followed.evidence = "The evidence of the second.";
  followed.advice = "The advice of the second.";
  followed.docs = "docs/rules/second.md";
  followed.saving_step_low_ns = 606'000;
  followed.saving_step_high_ns = 1'050'000;
  followed.saving_step_expected_ns = 818'000;
  followed.alternatives = {{.advice = "Another way of the second."}};
  followed.file = "/whole/path/of/second.py";
  followed.line = 6232;
  followed.function = "function_of_second";
  followed.op = "aten::second";
  followed.per_step = {.calls = 412.5, .bytes = 6334.5, .host_ns = 6335.5, .device_ns = 6336.5};
  analyze::Finding error;
  error.rule = "race";
  error.severity = analyze::Severity::kError;
  error.title = "The title of the third finding";
  error.site = "finding.py:33";
  error.evidence = "The evidence of the third.";
  error.advice = "The advice of the third.";
  error.docs = "docs/rules/third.md";
  error.alternatives = {{.advice = "Another way of the third."}};
  error.file = "/whole/path/of/third.py";
  error.line = 6233;
  error.function = "function_of_third";
  error.op = "aten::third";
  error.per_step = {.calls = 413.5, .bytes = 6337.5, .host_ns = 6338.5, .device_ns = 6339.5};
  return {leading, followed, error};
}

// By finding.
inline std::vector<FindingData> distinct_data() {
  const auto change = [](const char* file, std::uint32_t line, const char* before, std::optional<std::string> after) {
    return LineChange{.file = file,
                      .line = line,
                      .indent = std::string(line - 6130, ' '),
                      .before = before,
                      .after = std::move(after)};
  };
  return {{.id = "implicit_sync-6f0e1d2c",
           .in_repository = CodeLine{.path = "below/first.py", .line = 31},
           .change = change("/distinct/first.py", 6131, "x = a.to(d)", "x = tp.to(a, d)")},
          {.id = "blocking_copy-5e4d3c2b",
           .in_repository = CodeLine{.path = "below/second.py", .line = 32},
           .change = change("/distinct/second.py", 6132, "y = b.to(d)", "y = b.to(d).float()")},
          {.id = "race-4d3c2b1a",
           .in_repository = CodeLine{.path = "below/third.py", .line = 33},
           .change = change("/distinct/third.py", 6133, "sync()", std::nullopt)}};
}

// Every field has a value of its own.
inline analyze::Report distinct_report() {
  using analyze::Direction;
  using analyze::Phase;
  analyze::Report report;
  report.source = distinct_source();
  report.span_ns = 3'014'000'000;
  report.totals = distinct_totals();
  report.syncs = {.count = 1876,
                  .host_blocked_ns = 1'215'000'000,
                  .of_transfers_count = 949,
                  .of_transfers_host_blocked_ns = 907'000'000};
  report.steps = analyze::Steps{.count = 961, .median_ns = 3'141'000, .whole_count = 17, .device_median_ns = 3'143'000};
  report.steps->medians = {.counts = {6.0625, 5.0625, 4.0625, 3.0625, 2.0625, 1.0625},
                           .bytes = {61'500, 51'400, 41'300, 31'200, 21'100, 11'700},
                           .syncs = 7,
                           .blocked_ns = 71'800};
  report.verdict = distinct_verdict();
  report.idle = {distinct_idle_site(1, analyze::IdleCause::kCopiesOnly),
                 distinct_idle_site(2, analyze::IdleCause::kRank)};
  report.ranges = distinct_ranges();
  report.memory = distinct_memory();
  report.sites = {distinct_site(1, Direction::kHostToDevice, Phase::kLoader),
                  distinct_site(2, Direction::kDeviceToHost, Phase::kBackward),
                  distinct_site(3, Direction::kDeviceToDevice, Phase::kForward),
                  distinct_site(4, Direction::kPeerToPeer, Phase::kOptimizer),
                  distinct_site(5, Direction::kHostToHost, Phase::kOther),
                  distinct_site(6, Direction::kMemset, Phase::kForward),
                  distinct_site(7, Direction::kHostToDevice, Phase::kOther)};
  report.sites[6].missing_call = analyze::MissingCall::kEarlier;
  report.sync_sites = {distinct_sync_site(1, Phase::kForward), distinct_sync_site(2, Phase::kOptimizer)};
  report.lines = {
      {.file = "/home/me/line1.py",
       .line = 6151,
       .time_ns = 9'410'000,
       .waits_ns = 9'310'000,
       .copies_ns = 9'210'000,
       .gpu_idle_ns = 9'110'000},
      {.file = "/home/me/line2.py", .line = 6152, .time_ns = 9'010'000, .waits_ns = 8'910'000, .copies_ns = 8'810'000}};
  report.paths = distinct_paths();
  report.findings = distinct_findings();
  report.saving_pct_all = 41.25;
  report.losses = {{"cupti_dropped", 76}, {"loss_of_tomorrow", 77}, {"stack_truncated", 78}};
  return report;
}

// One row of each table, in which whatever may be unknown is.
inline analyze::Report bare_report() {
  analyze::Report report;
  report.source.kind = "kineto";
  report.source.paths = {"bare.json"};
  report.source.process_count = 1;
  report.source.devices = {{.id = 6, .name = "", .memory_bytes = 0}};
  report.span_ns = 999;
  report.totals[0].count = 3;
  report.totals[0].bytes = 10;
  report.totals[1].count = 4;
  report.syncs.count = 5;
  report.verdict.threads.resize(1);
  report.verdict.threads[0].thread = 4712;
  report.verdict.threads[0].role = analyze::ThreadRole::kOther;
  report.idle.resize(1);
  report.idle[0].count = 8;
  report.ranges.resize(2);
  report.ranges[0].name = "outer";
  report.ranges[0].count = 2;
  report.ranges[0].total_ns = 7;
  report.ranges[1].name = "inner";
  report.ranges[1].count = 1;
  report.memory.emplace();
  report.memory->sites = {{.site = "allocated", .kind = analyze::AllocationKind::kDevice, .bytes = 0, .count = 1}};
  report.memory->points.resize(1);
  report.sites.resize(1);
  report.sites[0].site = "somewhere";
  report.sites[0].count = 3;
  report.sites[0].bytes = 10;
  report.sync_sites.resize(1);
  report.sync_sites[0].site = "elsewhere";
  report.sync_sites[0].count = 5;
  report.findings.resize(1);
  report.findings[0].rule = "blocking_copy";
  report.findings[0].severity = analyze::Severity::kInfo;
  report.findings[0].title = "A title";
  return report;
}

// A report of a run that changed all that distinct_report() tells, at the same places.
inline analyze::Report changed_report() {
  analyze::Report report = distinct_report();
  report.source.paths = {"after0.tpk", "after1.tpk"};
  report.source.devices[1].name = report.source.devices[0].name;
  report.span_ns = 2'509'000'000;
  report.steps = analyze::Steps{.count = 1'003,
                                .median_ns = 2'512'000,
                                .source = analyze::StepSource::kRanges,
                                .marker = "step",
                                .whole_count = 19,
                                .device_median_ns = 2'515'000};
  report.verdict.bound_by = analyze::Bound::kLaunch;
  report.verdict.gpu_busy_pct = 43.5;
  report.verdict.gpu_idle_pct = 50.25;
  report.verdict.exposed_transfer_pct = 6.25;
  report.losses = {{"stack_truncated", 87}};
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    analyze::Site& site = report.sites[i];
    const auto more = static_cast<std::int64_t>(i);
    site.line = *site.line + 700;
    site.site = "place" + std::to_string(i + 1) + ".py:" + std::to_string(*site.line);
    site.src_kind = "new" + *site.src_kind;
    site.in_steps.count += 95 + i;
    site.in_steps.bytes += 9'300'000 + i * 70'000;
    *site.in_steps.device_time_ns += 1'170'000 + 7'000 * more;
    *site.in_steps.host_blocked_ns += 2'230'000 + 9'000 * more * (i % 2 == 0 ? 400 : -40);
    *site.in_steps.exposed_ns += 1'310'000 + 3'000 * more;
  }
  for (std::size_t i = 0; i < report.sync_sites.size(); ++i) {
    analyze::SyncSite& site = report.sync_sites[i];
    site.in_steps.count += 137 + i;
    *site.in_steps.host_blocked_ns += 4'410'000 + 11'000 * static_cast<std::int64_t>(i);
  }
  report.findings.erase(report.findings.begin() + 1);
  report.findings[0].saving_ns = 440'000'000;
  report.findings[0].saving_step_ns = 469'500;
  report.findings[0].saving_pct = 14.5;
  report.findings[0].saving_step_low_ns = 358'500;
  report.findings[0].saving_step_high_ns = 580'500;
  report.findings[0].saving_step_expected_ns = 464'500;
  return report;
}

}  // namespace turnpike::report
