#include "report/rollup/rollup.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/model/collectives.h"
#include "analyze/model/direction.h"
#include "analyze/model/link_state.h"
#include "analyze/sums/process_analysis.h"
#include "report/rollup/parquet_file.h"
#include "report/rollup/sums.h"
#include "report/rollup/who.h"
#include "trace/losses.h"

namespace turnpike::report::rollup {
namespace {

using analyze::kNone;

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kMinuteNs = 60'000'000'000;

std::int64_t minute_of(std::int64_t time_ns) {
  std::int64_t minute = time_ns / kMinuteNs;
  if (time_ns % kMinuteNs < 0) --minute;
  return minute * kMinuteNs;
}

// Steps that begin in a minute, and what its devices did in them.
void add_steps(const analyze::ProcessAnalysis& analysis, const trace::Process& process,
               const analyze::Timeline& timeline, Tables& tables) {
  const auto& steps = analysis.steps();
  if (!steps) return;
  std::vector<analyze::Interval> meetings;
  for (const auto& stream : analyze::collectives_of(process, timeline).streams) {
    for (const auto& kernel : stream) meetings.push_back({kernel.start_ns, kernel.end_ns});
  }
  const analyze::IntervalSet collectives(std::move(meetings));
  analyze::IntervalSet kernels;
  const bool are_kernels_known = analysis.activity().is_known();
  if (are_kernels_known) {
    for (const auto& [device, did] : analysis.activity().devices()) kernels = kernels.unite(did.kernels);
    kernels = kernels.subtract(collectives);
  }
  const auto& starts = steps->starts_ns;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t end_ns = i + 1 < starts.size() ? starts[i + 1] : steps->window.end_ns;
    // The last one may have no end; those that warm up lie before the window.
    if (end_ns <= starts[i] || starts[i] < steps->window.start_ns || end_ns > steps->window.end_ns) continue;
    Sums& sums = tables.at({.what = What::kStep, .minute_ns = minute_of(starts[i])});
    ++sums.count;
    add_known(sums.step_ns, end_ns - starts[i]);
    sums.add_wait(end_ns - starts[i]);
    if (!are_kernels_known) continue;
    const std::int64_t met_ns = collectives.covered_ns(starts[i], end_ns);
    add_known(sums.collective_ns, met_ns);
    sums.add_own_part(end_ns - starts[i] - met_ns);
    add_known(sums.kernel_ns, kernels.covered_ns(starts[i], end_ns));
  }
}

void add_losses(const trace::Process& process, const analyze::Timeline& timeline, std::int64_t minute_ns,
                Tables& tables) {
  std::map<std::uint32_t, std::uint64_t> losses = process.losses;
  losses[static_cast<std::uint32_t>(trace::Loss::kMissingActivity)] += timeline.missing_count;
  losses[static_cast<std::uint32_t>(trace::Loss::kUnmatchedActivity)] += timeline.unmatched_count;
  for (const auto& [number, count] : losses) {
    if (count == 0) continue;
    Sums& sums = tables.at({.what = What::kLoss, .minute_ns = minute_ns, .row = number});
    sums.count += count;
  }
}

}  // namespace

std::string rollup_of(const analyze::LoadedProcess& loaded, const std::string& run) {
  const trace::Process& process = loaded.process;
  const analyze::Timeline& timeline = loaded.timeline;
  const analyze::HostNodes host_nodes(process);
  const auto span = analyze::span_of(timeline);
  const std::int64_t start_ns = span ? span->start_ns : process.start_realtime_ns;
  Tables tables;
  const auto minute_or_first = [&](std::int64_t time_ns) {
    return minute_of(time_ns == trace::kUnknownTime ? start_ns : time_ns);
  };

  analyze::RunSums sums;
  sums.watch.transfer = [&](const analyze::Transfer& transfer, const analyze::TransferCost& cost, std::uint32_t site) {
    const analyze::Call* const call = transfer.call == kNone ? nullptr : &timeline.calls[transfer.call];
    // In the minute in which the program asked for it, as in the steps.
    Sums& row = tables.at({.what = What::kTransfer,
                           .minute_ns = minute_or_first(call != nullptr ? call->start_ns : transfer.start_ns),
                           .row = site,
                           .device = transfer.device,
                           .stream = transfer.stream});
    row.add(cost);
    if (call == nullptr) return;
    const std::uint64_t address = transfer.direction == analyze::Direction::kDeviceToHost ? call->dst : call->src;
    row.add_host_node(host_nodes.node_of(address), cost.bytes);
  };
  sums.watch.synchronisation = [&](const analyze::Call& call, std::optional<std::int64_t> idle_ns, std::uint32_t site) {
    Sums& row = tables.at({.what = What::kSync,
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
  analyze::ProcessAnalysis analysis(sums, process, timeline);
  analysis.add_to_sums();
  add_steps(analysis, process, timeline, tables);
  add_losses(process, timeline, minute_of(start_ns), tables);
  Sums& whole = tables.at({.what = What::kProcess, .minute_ns = minute_of(start_ns)});
  whole.count = 1;
  whole.span_ns = span ? std::optional(span->end_ns - span->start_ns) : std::nullopt;

  ParquetFile file(tables.rows().size());
  add_who(file, process, run, kSchema, tables.rows().size());
  add_columns(file, tables, sums, process, timeline);
  return file.finish("turnpike " TURNPIKE_VERSION);
}

}  // namespace turnpike::report::rollup
