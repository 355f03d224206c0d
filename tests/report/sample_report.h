// Reports made by hand: an ordinary one, and one in which every text and number is as bad as it gets.
#pragma once

#include <limits>
#include <string>

#include "analyze/report.h"

namespace turnpike::report {

inline analyze::Total& total_of(analyze::Report& report, analyze::Direction direction) {
  return report.totals[static_cast<std::size_t>(direction)];
}

inline analyze::Site upload_site() {
  analyze::Site site;
  site.site = "train.py:23";
  site.file = "/home/me/project/train.py";
  site.line = 23;
  site.function = "train_one_epoch";
  site.op = "aten::to";
  site.inner_op = "aten::copy_";
  site.api = "cudaMemcpyAsync";
  site.phase = analyze::Phase::kLoader;
  site.direction = analyze::Direction::kHostToDevice;
  site.src_kind = "pageable";
  site.dst_kind = "device";
  site.streams = {7};
  site.stack = {"train_one_epoch (/home/me/project/train.py:23)", "<module> (/home/me/project/train.py:60)"};
  site.count = 938;
  site.bytes = 188'260'352;
  site.blocked_count = 938;
  site.device_time_ns = 24'400'000;
  site.host_blocked_ns = 61'200'000;
  site.exposed_ns = 24'400'000;
  site.gpu_idle_ns = 50'000'000;
  site.overlapped_pct = 0.0;
  site.bandwidth_gbps = 7.716;
  return site;
}

inline analyze::Site gradient_site() {
  analyze::Site site;
  site.site = "hooks.py:8";
  site.file = "/home/me/project/hooks.py";
  site.line = 8;
  site.direction = analyze::Direction::kDeviceToHost;
  site.phase = analyze::Phase::kBackward;
  site.op = "aten::copy_";
  site.src_kind = "device";
  site.dst_kind = "pinned";
  site.forward_site = "model.py:41";
  site.in_graph = true;
  site.count = 3;
  site.bytes = 1000;
  return site;
}

inline analyze::Report ordinary_report() {
  analyze::Report report;
  report.source.kind = "turnpike";
  report.source.paths = {"runs/train.tpk"};
  report.source.process_count = 1;
  report.source.devices = {{0, "NVIDIA H100 80GB HBM3", 85'899'345'920}};
  report.source.hosts = {"box"};
  report.source.program = "python train.py --epochs 1";
  report.source.versions = {{"python", "3.12.3"}, {"torch", "2.11.0+cu130"}};
  report.source.detail = "full";
  report.span_ns = 3'012'000'000;
  analyze::Total& up = total_of(report, analyze::Direction::kHostToDevice);
  up = {938, 188'260'352, 24'400'000, 61'200'000, 938, 188'260'352, 7.716, 55.0};
  analyze::Total& down = total_of(report, analyze::Direction::kDeviceToHost);
  down = {3, 1000, std::nullopt, std::nullopt, 0, 0, std::nullopt, std::nullopt};
  report.syncs = {1876, 1'200'000'000, 938, 900'000'000};
  report.steps = analyze::Steps{938, 3'210'000, analyze::StepSource::kBackward};
  report.steps->whole_count = 937;
  report.steps->medians = {.counts = {1}, .bytes = {201'000}, .syncs = 1, .blocked_ns = 385'000};
  report.verdict.bound_by = analyze::Bound::kTransfer;
  report.verdict.gpu_busy_pct = 31.0;
  report.verdict.gpu_idle_pct = 69.0;
  report.verdict.exposed_transfer_pct = 22.0;
  report.verdict.why = "The GPU waited for uploads in 22 % of the time.";
  report.verdict.idle = analyze::IdleShares{.copies_pct = 20, .syncs_pct = 30, .launch_pct = 19};
  report.verdict.launch_lead = analyze::Spread{-500, 2'100, 41'000};
  report.verdict.steps_by_bound = {{analyze::Bound::kSync, 38}, {analyze::Bound::kTransfer, 900}};
  analyze::HostThread main_thread;
  main_thread.thread = 4711;
  main_thread.role = analyze::ThreadRole::kMain;
  main_thread.launches = 30'000;
  main_thread.calls_pct = 12.0;
  main_thread.waits_pct = 39.0;
  main_thread.between_pct = 49.0;
  main_thread.operator_pct = 31.0;
  main_thread.python_pct = 69.0;
  main_thread.busiest_lines = {"train.py:31 (40 %)", "train.py:23 (22 %)"};
  report.verdict.threads = {main_thread};
  report.ranges = {{"forward", 938, 1'200'000'000, report.verdict}, {"step", 938, 3'000'000'000, report.verdict}};
  analyze::MemoryUse memory;
  memory.peak_resident_bytes = 3'200'000'000;
  memory.peak_device_bytes = 1'100'000'000;
  memory.peak_pinned_bytes = 25'000'000;
  memory.sites = {{"model.py:12", analyze::AllocationKind::kDevice, 900'000'000, 12},
                  {"train.py:9", analyze::AllocationKind::kPinned, 25'000'000, 1}};
  memory.points = {{0, std::nullopt, 0, 0}, {1'000'000, 3'200'000'000, 1'100'000'000, 25'000'000}};
  report.memory = memory;
  report.findings = {
      {"implicit_sync", analyze::Severity::kWarning, "aten::item makes the CPU wait for the GPU", "train.py:31",
       880'000'000, 938'000, 29.2, std::nullopt, "once a step, for 4 B; the CPU waited for 960 us a step",
       "Keep the value on the GPU and read it at the end.", "docs/rules/implicit_sync.md"},
      {"pageable_async_copy", analyze::Severity::kWarning, "uploads from ordinary (pageable) memory", "train.py:23",
       std::nullopt, std::nullopt, std::nullopt, std::nullopt, "once a step, 201 kB each",
       "Load into page-locked memory.", "docs/rules/pageable_async_copy.md"}};
  report.saving_pct_all = 41.0;
  report.sites = {upload_site(), gradient_site()};
  analyze::SyncSite sync;
  sync.site = "train.py:31";
  sync.file = "/home/me/project/train.py";
  sync.line = 31;
  sync.function = "train_one_epoch";
  sync.op = "aten::item";
  sync.api = "cudaStreamSynchronize";
  sync.phase = analyze::Phase::kForward;
  sync.count = 938;
  sync.of_transfers_count = 938;
  sync.host_blocked_ns = 900'000'000;
  report.sync_sites = {sync};
  report.losses = {{"stack_truncated", 4}};
  return report;
}

// Terminal escapes, controls, invalid UTF-8, characters of width two and of no width, and no end of it.
inline std::string hostile_text() {
  std::string text = "\x1b[31mred\x1b]0;title\x07 \r\n\t\x01 \xff\xfe \xe2\x80\xae\xe2\x80\x8b ";
  for (int i = 0; i < 60; ++i) text += "\xe6\xbc\xa2\xe5\xad\x97 e\xcc\x81 \xf0\x9f\x98\x80 \"\\";
  return text;
}

template <typename AnySite>
void make_hostile(AnySite& site) {
  site.site = hostile_text();
  site.file = hostile_text();
  site.line = std::numeric_limits<std::uint32_t>::max();
  site.function = hostile_text();
  site.op = hostile_text();
  site.api = hostile_text();
  site.forward_site = hostile_text();
  site.stack = {hostile_text()};
  site.count = std::numeric_limits<std::uint64_t>::max();
  site.host_blocked_ns = std::numeric_limits<std::int64_t>::max();
  site.gpu_idle_ns = std::numeric_limits<std::int64_t>::min();
}

inline analyze::Report hostile_report() {
  analyze::Report report = ordinary_report();
  report.source.paths = {hostile_text(), hostile_text()};
  report.source.program = hostile_text();
  report.source.identities.resize(1);
  report.source.identities[0].job_id = hostile_text();
  report.source.detail = hostile_text();
  report.source.devices = {{4'000'000'000, hostile_text(), std::numeric_limits<std::uint64_t>::max()}, {1, "", 0}};
  report.source.versions = {{hostile_text(), hostile_text()}};
  report.source.hosts = {hostile_text()};
  report.source.unusable = {hostile_text()};
  report.span_ns = std::numeric_limits<std::int64_t>::min();
  for (analyze::Total& total : report.totals) {
    total.count = total.bytes = std::numeric_limits<std::uint64_t>::max();
    total.device_time_ns = std::numeric_limits<std::int64_t>::max();
    total.bandwidth_gbps = std::numeric_limits<double>::infinity();
    total.link_gbps = 1e-300;
  }
  report.steps = analyze::Steps{1, -1, analyze::StepSource::kRanges, hostile_text()};
  report.verdict.gpu_busy_pct = std::numeric_limits<double>::quiet_NaN();
  report.verdict.gpu_idle_pct = 1e300;
  report.verdict.exposed_transfer_pct = -1e300;
  report.verdict.why = hostile_text();
  report.verdict.threads[0].name = hostile_text();
  report.verdict.threads[0].role = analyze::ThreadRole::kOther;
  report.verdict.threads[0].busiest_lines = {hostile_text()};
  report.verdict.steps_by_bound[analyze::Bound::kMixed] = std::numeric_limits<std::uint64_t>::max();
  report.ranges[0].name = hostile_text();
  report.memory->sites[0].site = hostile_text();
  report.findings[0].title = report.findings[0].site = report.findings[0].evidence = hostile_text();
  report.findings[0].advice = report.findings[0].rule = hostile_text();
  report.findings[0].saving_step_ns = std::numeric_limits<std::int64_t>::min();
  make_hostile(report.sites[0]);
  report.sites[0].bytes = std::numeric_limits<std::uint64_t>::max();
  report.sites[0].src_kind = report.sites[0].dst_kind = report.sites[0].inner_op = hostile_text();
  report.sites[0].overlapped_pct = std::numeric_limits<double>::quiet_NaN();
  make_hostile(report.sync_sites[0]);
  report.losses = {{hostile_text(), std::numeric_limits<std::uint64_t>::max()}};
  return report;
}

}  // namespace turnpike::report
