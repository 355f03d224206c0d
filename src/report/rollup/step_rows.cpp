#include "report/rollup/step_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/model/collectives.h"

namespace turnpike::report::rollup {
namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;

// What the devices did.
struct Work {
  analyze::IntervalSet collectives;
  analyze::IntervalSet kernels;  // others
  bool are_kernels_known;
};

Work work_of(const analyze::ProcessAnalysis& analysis, const trace::Process& process,
             const analyze::Timeline& timeline) {
  std::vector<analyze::Interval> meetings;
  for (const auto& stream : analyze::collectives_of(process, timeline).streams) {
    for (const auto& kernel : stream) meetings.push_back({kernel.start_ns, kernel.end_ns});
  }
  Work work{.collectives = analyze::IntervalSet(std::move(meetings)),
            .kernels = {},
            .are_kernels_known = analysis.activity().is_known()};
  if (!work.are_kernels_known) return work;
  for (const auto& [device, did] : analysis.activity().devices()) work.kernels = work.kernels.unite(did.kernels);
  work.kernels = work.kernels.subtract(work.collectives);
  return work;
}

}  // namespace

std::int64_t minute_of(std::int64_t time_ns) {
  std::int64_t minute = time_ns / kMinuteNs;
  if (time_ns % kMinuteNs < 0) --minute;
  return minute * kMinuteNs;
}

void StepRows::close(std::int64_t end_ns, Tables& tables) {
  if (end_ns <= open_->start_ns) return;
  Sums& sums = tables.at({.what = What::kStep, .minute_ns = minute_of(open_->start_ns)});
  const std::int64_t step_ns = end_ns - open_->start_ns;
  ++sums.count;
  add_known(sums.step_ns, step_ns);
  sums.add_wait(step_ns);
  if (!open_->are_kernels_known) return;
  add_known(sums.collective_ns, open_->collective_ns);
  add_known(sums.kernel_ns, open_->kernel_ns);
  sums.add_own_part(step_ns - open_->collective_ns);
}

void StepRows::add(const analyze::ProcessAnalysis& analysis, const trace::Process& process,
                   const analyze::Timeline& timeline, const Part& part, Tables& tables) {
  const auto& steps = analysis.steps();
  if (!steps && !open_) return;
  const Work work = work_of(analysis, process, timeline);
  const auto pass_until = [&](std::int64_t end_ns) {
    if (!open_) return;
    const std::int64_t from_ns = std::max(open_->start_ns, part.time.start_ns);
    open_->are_kernels_known = open_->are_kernels_known && work.are_kernels_known;
    open_->collective_ns += work.collectives.covered_ns(from_ns, end_ns);
    open_->kernel_ns += work.kernels.covered_ns(from_ns, end_ns);
  };
  if (steps) {
    for (const std::int64_t start_ns : steps->starts_ns) {
      if (start_ns < part.time.start_ns || start_ns >= part.time.end_ns) continue;
      // Those that warm up lie before the window, which only the first part with steps can have.
      if (!found_ && start_ns < steps->window.start_ns) continue;
      pass_until(start_ns);
      if (open_) close(start_ns, tables);
      open_ = Step{.start_ns = start_ns};
    }
    found_ = steps->steps;
    // The last one of all may have no end.
    if (part.is_last && open_ && open_->start_ns < steps->window.end_ns) {
      pass_until(steps->window.end_ns);
      close(steps->window.end_ns, tables);
    }
  }
  if (!part.is_last) pass_until(part.time.end_ns);
}

}  // namespace turnpike::report::rollup
