// Sums up what processes have in common: source, span, steps, verdict, losses.
#include "analyze/run_analysis.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "analyze/inputs.h"
#include "analyze/model/device_step.h"
#include "analyze/model/source.h"
#include "analyze/rules/launch_bound.h"
#include "analyze/sums/host_threads.h"
#include "analyze/sums/part_verdicts.h"
#include "trace/losses.h"

namespace turnpike::analyze {
namespace {

std::string name_of_loss(std::uint32_t number) {
  const trace::LossInfo* info = trace::find_loss(number);
  return info != nullptr ? std::string(info->name) : "loss_" + std::to_string(number);
}

std::string name_of_loss(trace::Loss loss) {
  return name_of_loss(static_cast<std::uint32_t>(loss));
}

// Ids that records name and the process does not define. Those that frames and stacks name, the reader counts.
std::uint64_t count_undefined(const trace::Process& process, const Timeline& timeline) {
  std::unordered_set<std::uint32_t> names = timeline.other_names;
  std::unordered_set<std::uint32_t> stacks;  // only those: there may be a million others
  const auto look_at_stack = [&](std::uint32_t id) {
    if (id != trace::kNoId && !process.stacks.contains(id)) stacks.insert(id);
  };
  std::uint32_t last_name = trace::kNoId;  // mostly that of the next call too
  for (const Call& call : timeline.calls) {
    if (call.name != last_name) names.insert(call.name);
    last_name = call.name;
    look_at_stack(call.stack);
  }
  for (const Range& range : timeline.ranges) names.insert(range.name);
  for (const Kernel& kernel : timeline.kernels) names.insert(kernel.name);
  for (const auto& sample : timeline.samples) look_at_stack(sample.stack);
  for (const auto& device : timeline.devices) names.insert(device.name);
  for (const auto& [thread, name] : timeline.thread_names) names.insert(name);
  for (const auto& [node, made] : timeline.graph_nodes) look_at_stack(made.stack);
  const auto undefined_names = std::count_if(names.begin(), names.end(), [&](std::uint32_t id) {
    return id != trace::kNoId && !process.strings.contains(id);
  });
  return static_cast<std::uint64_t>(undefined_names) + stacks.size();
}

// From the first work of any device to the last. Loading the batch is part of the work, also that for the first one.
Interval time_of_work(const Activity& activity, const std::vector<Interval>& loading, Interval otherwise) {
  std::optional<Interval> found;
  for (const auto& [id, device] : activity.devices()) {
    const auto& busy = device.busy.intervals();
    if (busy.empty()) continue;
    if (!found) found = Interval{busy.front().start_ns, busy.back().end_ns};
    found = Interval{std::min(found->start_ns, busy.front().start_ns), std::max(found->end_ns, busy.back().end_ns)};
  }
  if (!found) return otherwise;
  for (const Interval& wait : loading) found->start_ns = std::min(found->start_ns, wait.start_ns);
  return *found;
}

bool are_copies_untimed(const Timeline& timeline) {
  const auto crosses = [](const Transfer& transfer) { return !is_within_device(transfer.direction); };
  const auto is_timed = [&](const Transfer& transfer) { return crosses(transfer) && transfer.has_times(); };
  return std::any_of(timeline.transfers.begin(), timeline.transfers.end(), crosses) &&
         std::none_of(timeline.transfers.begin(), timeline.transfers.end(), is_timed);
}

bool is_better(const FoundSteps& candidate, const FoundSteps& known) {
  if (candidate.steps.source != known.steps.source) return candidate.steps.source < known.steps.source;
  return candidate.steps.count > known.steps.count;
}

}  // namespace

void RunAnalysis::add(const trace::Process& process, const Timeline& timeline) {
  add_process(report_.source, process, timeline);
  report_.source_text.add(process.source_text);
  add_losses(process, timeline);
  links_.add(find_links(process, timeline, rates_));
  ProcessAnalysis analysis(sums_, process, timeline);
  analysis.add_to_sums();
  count_loss(name_of_loss(trace::Loss::kPathsFolded), analysis.stacks().folded_count());
  std::optional<FoundSteps> steps = analysis.steps();
  if (steps) steps->steps.device_median_ns = device_step_ns(timeline, *steps);
  if (steps) whole_steps_ += steps->whole_count;
  const auto& span = timeline.span;
  std::optional<MemoryUse> memory;
  if (span) {
    if (!span_) span_ = span;
    span_ = Interval{std::min(span_->start_ns, span->start_ns), std::max(span_->end_ns, span->end_ns)};
    are_kernels_known_ = are_kernels_known_ && analysis.activity().is_known();
    memory = analysis.memory(span->start_ns);
  }
  if (span && analysis.activity().is_known()) {
    const std::vector<Interval> whole = steps ? whole_steps(timeline, *steps) : std::vector<Interval>();
    const Interval window = steps ? Interval{whole.front().start_ns, whole.back().end_ns}
                                  : time_of_work(analysis.activity(), analysis.loading(), *span);
    const std::vector<Interval> steady = without_pauses(whole);
    IdleTimes idle = analysis.idle_times(window);
    const DeviceTimes times(analysis.activity(), idle);
    add_device_time(times, steps ? IntervalSet(steady) : IntervalSet({window}), steps);
    scope_.launches += static_cast<std::uint64_t>(
        std::count_if(timeline.calls.begin(), timeline.calls.end(), [](const Call& call) { return call.must_run; }));
    scope_.lost_launches += timeline.lost_launches.size();
    scope_.are_copies_untimed = scope_.are_copies_untimed || are_copies_untimed(timeline);
    if (!steps) {
      scope_.before_ns = std::max(scope_.before_ns, window.start_ns - span->start_ns);
      scope_.after_ns = std::max(scope_.after_ns, span->end_ns - window.end_ns);
    }
    scope_.pauses += whole.size() - steady.size();
    add_ranges(range_verdicts(times, process, timeline));
    idle_.add(idle, IntervalSet(steady));
    const ProcessModel model = analysis.model(steps, rates_);
    FoundFindings found = find_findings(model, watch_ != nullptr);
    auto rank = rank_run(process, timeline, window, steps ? steps->whole_count : 1);
    if (watch_) {
      watch_({process, timeline, &idle, &model, &found, &analysis.stacks(), &analysis.activity(),
              rank ? &*rank : nullptr, &memory});
    }
    if (rank) ranks_.add(std::move(*rank), model.measured_step_ns(), rank_savings(model, found));
    add_model(model, times, steady, std::move(found));
  } else if (watch_) {
    watch_({process, timeline, nullptr, nullptr, nullptr, &analysis.stacks(), &analysis.activity(), nullptr, &memory});
  }
  add_memory(std::move(memory));
  offer_steps(std::move(steps));
}

void RunAnalysis::add_device_time(const DeviceTimes& times, const IntervalSet& span,
                                  const std::optional<FoundSteps>& steps) {
  const DeviceTime time = times.within(span);
  if (!steps) return time_of_runs_.add(time);
  if (time.span_ns == 0) return;  // no device in these steps
  time_of_steps_.add(time);
  scope_.whole_steps += steps->whole_count;
  ++scope_.processes;
  scope_.has_warm_up = scope_.has_warm_up || steps->has_warm_up;
  scope_.is_of_devices = scope_.is_of_devices || steps->steps.is_host_ahead();
}

// Threads and leads are told of one process: of the one that launches most.
void RunAnalysis::add_model(const ProcessModel& model, const DeviceTimes& times, std::span<const Interval> steps,
                            FoundFindings found) {
  add_findings(std::move(found));
  auto threads = describe_threads(model);
  std::uint64_t launches = 0;
  for (const HostThread& thread : threads) launches += thread.launches;
  if (launches <= most_launches_) return;
  most_launches_ = launches;
  details_.threads = std::move(threads);
  details_.launch_lead = launch_lead_of(model);
  details_.steps_by_bound = steps_by_bound(times, steps);
  details_.why_not_compiled = why_not_compiled(model).value_or("");
}

// Ranges of several processes: of each name the process that spent most time in it speaks for all.
void RunAnalysis::add_ranges(std::vector<RangeVerdict> ranges) {
  for (RangeVerdict& range : ranges) {
    const auto known = std::find_if(report_.ranges.begin(), report_.ranges.end(),
                                    [&](const RangeVerdict& other) { return other.name == range.name; });
    if (known == report_.ranges.end()) {
      report_.ranges.push_back(std::move(range));
    } else if (range.total_ns > known->total_ns) {
      *known = std::move(range);
    }
  }
}

void RunAnalysis::add_memory(std::optional<MemoryUse> use) {
  const auto size = [](const std::optional<MemoryUse>& one) {
    return one ? one->peak_device_bytes + one->peak_pinned_bytes + one->peak_resident_bytes.value_or(0) : 0;
  };
  if (use && (!report_.memory || size(use) > size(report_.memory))) report_.memory = std::move(use);
}

void RunAnalysis::add_losses(const trace::Process& process, const Timeline& timeline) {
  for (const auto& [number, count] : process.losses) count_loss(name_of_loss(number), count);
  add_unread(process, report_.source.inputs.unread);
  count_loss(name_of_loss(trace::Loss::kUnmatchedActivity), timeline.unmatched_count);
  count_loss(name_of_loss(trace::missing_activity_of(process.losses)), timeline.missing_count);
  count_loss(name_of_loss(trace::Loss::kUnknownActivity), timeline.unclassified_count);
  count_loss(name_of_loss(trace::Loss::kUndefinedReference), count_undefined(process, timeline));
}

void RunAnalysis::count_loss(const std::string& name, std::uint64_t count) {
  if (count > 0) report_.losses[name] += count;
}

// Steps of several processes run beside each other: the process that tells most speaks for all.
void RunAnalysis::offer_steps(std::optional<FoundSteps> found) {
  if (found && (!steps_ || is_better(*found, *steps_))) steps_ = std::move(found);
}

// Ranks of one program have the same findings: the process that would gain most speaks for all.
void RunAnalysis::add_findings(FoundFindings found) {
  for (Finding& finding : found.findings) {
    const auto known = std::find_if(report_.findings.begin(), report_.findings.end(), [&](const Finding& other) {
      return other.rule == finding.rule && is_same_place(other, finding);
    });
    if (known == report_.findings.end()) {
      report_.findings.push_back(std::move(finding));
    } else if (finding.saving_pct > known->saving_pct) {
      *known = std::move(finding);
    }
  }
  report_.saving_pct_all = std::max(report_.saving_pct_all, found.saving_pct_all);
}

// Of two processes, each may have told the other's leader for what it leads: then both stand by themselves.
void RunAnalysis::check_leaders() {
  for (Finding& finding : report_.findings) {
    const bool is_led = std::any_of(report_.findings.begin(), report_.findings.end(), [&](const Finding& other) {
      return other.rule == finding.superseded_by && !other.superseded_by;
    });
    if (!is_led) finding.superseded_by.reset();
  }
}

// Of a process that did not record its kernels nothing is said but why; nor of one of which nothing could be read.
Verdict RunAnalysis::verdict() const {
  const DeviceTime& time = scope_.processes > 0 ? time_of_steps_ : time_of_runs_;
  Verdict unknown;
  if (report_.source.inputs.is_incomplete() && time.span_ns <= 0) {
    unknown.why =
        "What the GPU did is unknown: the recording is incomplete, and what could be read of it does not tell.";
    return unknown;
  }
  if (are_kernels_known_) return judge(time, scope_);
  unknown.why =
      std::string(report_.source.inputs.is_incomplete() ? "No kernels could be read" : "Kernels were not recorded") +
      ", so what the GPU did between transfers is unknown. " + how_to_record_kernels(report_.source) + ".";
  return unknown;
}

Report RunAnalysis::finish(const std::string& source_kind) {
  report_.source.kind = source_kind;
  for (std::size_t i = 0; i < kDirectionCount; ++i) {
    TotalSums& sums = sums_.totals[i];
    sums.total.bandwidth_gbps = bandwidth_gbps(sums.timed_bytes, sums.total.device_time_ns);
    report_.totals[i] = sums.total;
  }
  links_.apply_to(report_);
  report_.syncs = sums_.syncs;
  report_.sites = sums_.sites.take_ranked();
  report_.sync_sites = sums_.sync_sites.take_ranked();
  report_.paths = sums_.paths.take_ranked();
  report_.lines = sums_.lines.take_ranked();
  if (span_) report_.span_ns = span_->end_ns - span_->start_ns;
  if (steps_) {
    report_.steps = std::move(steps_->steps);
    report_.steps->whole_count = whole_steps_;
    report_.steps->medians = sums_.step_counts.medians();
  }
  report_.verdict = verdict();
  if (are_kernels_known_) report_.idle = idle_.take_ranked();
  report_.verdict.threads = std::move(details_.threads);
  report_.verdict.launch_lead = details_.launch_lead;
  report_.verdict.steps_by_bound = std::move(details_.steps_by_bound);
  report_.verdict.why_not_compiled = std::move(details_.why_not_compiled);
  std::stable_sort(report_.ranges.begin(), report_.ranges.end(),
                   [](const RangeVerdict& a, const RangeVerdict& b) { return a.total_ns > b.total_ns; });
  ranks_.apply_to(report_);
  std::stable_sort(report_.findings.begin(), report_.findings.end(), comes_before);
  check_leaders();
  Report report = std::move(report_);
  *this = RunAnalysis();
  return report;
}

}  // namespace turnpike::analyze
