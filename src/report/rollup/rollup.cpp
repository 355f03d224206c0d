#include "report/rollup/rollup.h"

#include <algorithm>
#include <limits>

#include "analyze/model/direction.h"
#include "analyze/sums/process_analysis.h"
#include "report/rollup/parquet_file.h"
#include "report/rollup/who.h"
#include "trace/losses.h"

namespace turnpike::report::rollup {
namespace {

using analyze::kNone;

constexpr std::int64_t kSchema = 1;

// What has no time is of the last part.
bool is_in(const Part& part, std::int64_t time_ns) {
  if (time_ns == trace::kUnknownTime) return part.is_last;
  return part.time.start_ns <= time_ns && (part.is_last || time_ns < part.time.end_ns);
}

// In the minute in which the program asked for it, as in the steps.
std::int64_t time_of(const analyze::Transfer& transfer, const analyze::Timeline& timeline) {
  return transfer.call == kNone ? transfer.start_ns : timeline.calls[transfer.call].start_ns;
}

}  // namespace

RollUp::RollUp(const trace::Process& process) : process_(process), host_nodes_(process) {}

std::int64_t RollUp::minute_or_first(std::int64_t time_ns) const {
  return minute_of(time_ns != trace::kUnknownTime ? time_ns : span_ ? span_->start_ns : process_.start_realtime_ns);
}

void RollUp::watch(const analyze::Timeline& timeline, const Part& part) {
  sums_.watch.transfer = [&](const analyze::Transfer& transfer, const analyze::TransferCost& cost, std::uint32_t site) {
    const std::int64_t time_ns = time_of(transfer, timeline);
    if (!is_in(part, time_ns)) return;
    Sums& row = tables_.at({.what = What::kTransfer,
                            .minute_ns = minute_or_first(time_ns),
                            .row = site,
                            .device = transfer.device,
                            .stream = transfer.stream});
    row.add(cost);
    if (transfer.call == kNone) return;
    const analyze::Call& call = timeline.calls[transfer.call];
    const std::uint64_t address = transfer.direction == analyze::Direction::kDeviceToHost ? call.dst : call.src;
    row.add_host_node(host_nodes_.node_of(address), cost.bytes);
  };
  sums_.watch.synchronisation = [&](const analyze::Call& call, std::optional<std::int64_t> idle_ns,
                                    std::uint32_t site) {
    if (!is_in(part, call.start_ns)) return;
    Sums& row = tables_.at({.what = What::kSync,
                            .minute_ns = minute_or_first(call.start_ns),
                            .row = site,
                            .device = call.device,
                            .stream = call.stream});
    ++row.count;
    if (!call.has_times()) return;
    add_known(row.blocked_ns, call.duration_ns());
    row.add_wait(call.duration_ns());
    if (idle_ns) add_known(row.idle_ns, *idle_ns);
  };
}

void RollUp::count_losses(const analyze::Timeline& timeline, const Part& part) {
  std::vector<bool> has_record(timeline.calls.size());
  for (const analyze::Transfer& transfer : timeline.transfers) {
    if (transfer.is_migration) continue;
    if (transfer.call != kNone) {
      has_record[transfer.call] = true;
    } else if (is_in(part, transfer.start_ns)) {
      ++unmatched_count_;
    }
  }
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
    const analyze::Call& call = timeline.calls[i];
    if (call.must_copy && !has_record[i] && is_in(part, call.start_ns)) ++missing_count_;
  }
  unmatched_count_ += static_cast<std::uint64_t>(std::count_if(
      timeline.kernels.begin(), timeline.kernels.end(),
      [&](const analyze::Kernel& kernel) { return kernel.call == kNone && is_in(part, kernel.start_ns); }));
}

bool RollUp::has_steps(const analyze::Timeline& timeline) const {
  if (steps_.found() != nullptr) return true;
  analyze::RunSums unused;
  return analyze::ProcessAnalysis(unused, process_, timeline).steps().has_value();
}

void RollUp::add(const analyze::Timeline& timeline, const Part& part) {
  if (const auto span = timeline.span) {
    if (!span_) span_ = span;
    span_->end_ns = std::max(span_->end_ns, span->end_ns);
  }
  gpus_ = timeline.devices;
  watch(timeline, part);
  analyze::ProcessAnalysis analysis(sums_, process_, timeline, steps_.found());
  analysis.add_to_sums();
  steps_.add(analysis, process_, timeline, part, tables_);
  count_losses(timeline, part);
}

void RollUp::add_losses() {
  std::map<std::uint32_t, std::uint64_t> losses = process_.losses;
  losses[static_cast<std::uint32_t>(trace::missing_activity_of(losses))] += missing_count_;
  losses[static_cast<std::uint32_t>(trace::Loss::kUnmatchedActivity)] += unmatched_count_;
  for (const auto& [number, count] : losses) {
    if (count == 0) continue;
    Sums& sums = tables_.at({.what = What::kLoss, .minute_ns = minute_or_first(trace::kUnknownTime), .row = number});
    sums.count += count;
  }
}

std::string RollUp::finish(const std::string& run) {
  add_losses();
  Sums& whole = tables_.at({.what = What::kProcess, .minute_ns = minute_or_first(trace::kUnknownTime)});
  whole.count = 1;
  if (span_) {
    whole.start_ns = span_->start_ns;
    whole.span_ns = span_->end_ns - span_->start_ns;
  }
  ParquetFile file(tables_.rows().size());
  add_who(file, process_, run, kSchema, tables_.rows().size());
  add_columns(file, tables_, sums_, process_, gpus_);
  return file.finish("turnpike " TURNPIKE_VERSION);
}

std::string rollup_of(const analyze::LoadedProcess& loaded, const std::string& run) {
  RollUp all(loaded.process);
  constexpr analyze::Interval kAlways{std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};
  all.add(loaded.timeline, {.time = kAlways, .is_last = true});
  return all.finish(run);
}

}  // namespace turnpike::report::rollup
