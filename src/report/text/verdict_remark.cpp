// One sentence for each verdict, and one for each thing that the recording lacks.
#include "report/text/verdict_remark.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace turnpike::report {
namespace {

using analyze::Bound;
using analyze::Report;
using analyze::Site;
using analyze::Verdict;

// So much of the copying must have no place to count as "much": what the rules could not look at.
constexpr std::uint64_t kMuchIsOneIn = 4;

double idle_pct(const Verdict& verdict, double analyze::IdleShares::* share) {
  return verdict.idle ? (*verdict.idle).*share : 0.0;
}

std::string of_transfers(const Verdict& verdict) {
  if (verdict.exposed_transfer_pct.value_or(0) > verdict.gpu_busy_pct.value_or(0)) {
    return fmt::format(
        "The copies themselves are most of the time, and there is too little computing ({}) to hide them behind. What "
        "helps is to copy less: keep on the GPU what goes up again, and send smaller types.",
        percent_text(verdict.gpu_busy_pct));
  }
  return "The time is in the transfers below, but no change that Turnpike knows would gain much at any one line.";
}

std::string of_launches(const Verdict& verdict) {
  const double quiet_pct = idle_pct(verdict, &analyze::IdleShares::quiet_pct);
  if (quiet_pct <= idle_pct(verdict, &analyze::IdleShares::launch_pct)) {
    return "The GPU waits for the CPU to issue its work, more than for any transfer or synchronisation.";
  }
  std::string where;
  if (!verdict.threads.empty() && !verdict.threads.front().busiest_lines.empty()) {
    where = ", mostly at " + verdict.threads.front().busiest_lines.front();
  }
  return fmt::format(
      "For {} of the time the GPU has nothing to do because the program is busy on the CPU without calling CUDA{}: "
      "what it does there is the thing to speed up.",
      percent_text(quiet_pct), where);
}

std::string of_bound(const Verdict& verdict) {
  switch (verdict.bound_by.value_or(Bound::kMixed)) {
    case Bound::kGpu:
      return "The GPU computes nearly all the time: transfers and waits have little left to gain, and the kernels "
             "themselves are the thing to speed up.";
    case Bound::kTransfer:
      return of_transfers(verdict);
    case Bound::kSync:
      return "The CPU stands still in the synchronisations below, but none of them is known to be needless, or leaving "
             "it out would only move the wait.";
    case Bound::kLaunch:
      return of_launches(verdict);
    case Bound::kInput:
      return fmt::format(
          "For {} of the time the GPU waits for the next batch, but too seldom or too irregularly to tell what better "
          "loading would gain: record more steps.",
          percent_text(idle_pct(verdict, &analyze::IdleShares::input_pct)));
    case Bound::kMixed:
      break;
  }
  return "No single cause stands out.";
}

bool are_many_calls_missing(const Report& report) {
  std::uint64_t missing_bytes = 0;
  std::uint64_t bytes = 0;
  for (const Site& site : report.sites) {
    bytes += site.bytes;
    if (site.missing_call) missing_bytes += site.bytes;
  }
  return missing_bytes * kMuchIsOneIn > bytes;
}

}  // namespace

std::string remark_on(const Report& report) {
  std::string text = of_bound(report.verdict);
  if (are_many_calls_missing(report)) {
    text +=
        " Many of the transfers were started by calls that are not in the file, and no change can be tried on "
        "those: a longer recording knows more.";
  }
  if (!report.steps && report.verdict.bound_by != Bound::kGpu) {
    text +=
        " No steps were found, so start-up counts like the rest: mark each step, with profiler.step() under "
        "torch.profiler, else with torch.cuda.nvtx.range(\"step\"), and record again.";
  }
  return text;
}

}  // namespace turnpike::report
