// One sentence for each verdict, and one for each thing that the recording lacks.
#include "report/text/verdict_remark.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/terminal_sections.h"

namespace turnpike::report {
namespace {

using analyze::Bound;
using analyze::Report;
using analyze::Site;
using analyze::Verdict;

// So much of the copying must have no place to count as "much": what the rules could not look at.
constexpr std::uint64_t kMuchIsOneIn = 4;
// A wait is long from so much of the time on; the GPU is behind if it idles for, and copies for this wait, less than so
// much of it.
constexpr std::int64_t kLongIsOneIn = 10;
constexpr std::int64_t kLittleIsOneIn = 10;

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

std::string of_host(const Verdict& verdict) {
  const double allocations_pct = idle_pct(verdict, &analyze::IdleShares::allocations_pct);
  if (allocations_pct > idle_pct(verdict, &analyze::IdleShares::quiet_pct)) {
    return fmt::format(
        "For {} of the time the GPU has nothing to do because the CPU allocates, frees or page-locks memory: start-up "
        "does so once, and a loop should keep its memory.",
        percent_text(allocations_pct));
  }
  std::string where;
  if (!verdict.threads.empty() && !verdict.threads.front().busiest_lines.empty()) {
    where = ", mostly at " + verdict.threads.front().busiest_lines.front();
  }
  return fmt::format(
      "For {} of the time the GPU has nothing to do because the program is busy on the CPU without calling CUDA{}: "
      "what it does there is the thing to speed up.",
      percent_text(idle_pct(verdict, &analyze::IdleShares::quiet_pct)), where);
}

std::string of_communication(const Verdict& verdict) {
  const double others_pct = idle_pct(verdict, &analyze::IdleShares::other_devices_pct);
  if (others_pct > verdict.exposed_collective_pct.value_or(0)) {
    return fmt::format(
        "For {} of the time a GPU waits for another GPU of the program: what they do in turns is the thing to do at the "
        "same time.",
        percent_text(others_pct));
  }
  return fmt::format(
      "For {} of the time the GPU runs only collectives: they wait for other ranks, or are too large to hide behind "
      "computing. Record all ranks to learn who waits for whom.",
      percent_text(verdict.exposed_collective_pct));
}

std::string of_bound(const Verdict& verdict) {
  switch (verdict.bound_by.value_or(Bound::kMixed)) {
    case Bound::kGpu:
      return "The GPU computes nearly all the time: transfers and waits have little left to gain, and the kernels "
             "themselves are the thing to speed up.";
    case Bound::kTransfer:
      return of_transfers(verdict);
    case Bound::kSync:
      return "The CPU stands still in synchronisations and allocations, but none of them is known to be needless, or "
             "leaving it out would only move the wait.";
    case Bound::kLaunch:
      return "The GPU waits for the CPU to issue its work, more than for any transfer or synchronisation." +
             (verdict.why_not_compiled.empty() ? "" : " Compiling is not advised: " + verdict.why_not_compiled + ".");
    case Bound::kHost:
      return of_host(verdict);
    case Bound::kCommunication:
      return of_communication(verdict);
    case Bound::kUnrecorded:
      return fmt::format(
          "For {} of the time the GPU waits for work that is not in this recording, so nothing can be said about its "
          "cause: record the whole program, all of its processes and CUDA graphs included.",
          percent_text(idle_pct(verdict, &analyze::IdleShares::unrecorded_pct)));
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

struct Wait {
  const analyze::Where* where;
  std::int64_t blocked_ns;
  std::int64_t gpu_idle_ns;
  std::int64_t own_copy_ns;
};

std::optional<Wait> longest_wait(const Report& report) {
  std::optional<Wait> longest;
  const auto take = [&](const auto& site, std::optional<std::int64_t> own_copy_ns) {
    if (!site.host_blocked_ns || !site.gpu_idle_ns || !own_copy_ns) return;
    if (longest && longest->blocked_ns >= *site.host_blocked_ns) return;
    longest = Wait{&site, *site.host_blocked_ns, *site.gpu_idle_ns, *own_copy_ns};
  };
  for (const Site& site : report.sites) take(site, site.device_time_ns);
  for (const analyze::SyncSite& site : report.sync_sites) {
    if (site.of_transfers_count == 0) take(site, 0);  // else the transfer's row has it
  }
  return longest;
}

bool is_in_a_finding(const Report& report, const analyze::Where& where) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const analyze::Finding& finding) {
    return finding.site == where.site && finding.library_site == where.library_site;
  });
}

}  // namespace

std::string wait_remark_on(const Report& report) {
  const auto wait = longest_wait(report);
  if (!wait || wait->blocked_ns < report.span_ns / kLongIsOneIn) return "";
  const bool is_gpu_behind = wait->gpu_idle_ns + wait->own_copy_ns < wait->blocked_ns / kLittleIsOneIn;
  if (!is_gpu_behind || is_in_a_finding(report, *wait->where)) return "";
  const double at_work_pct = 100 * (1 - static_cast<double>(wait->gpu_idle_ns) / static_cast<double>(wait->blocked_ns));
  return fmt::format("Not a problem: the CPU waits {} at {}. The GPU is at work for {} of it.",
                     duration_text(wait->blocked_ns), place_words(wait->where->site, wait->where->library_site),
                     percent_text(at_work_pct));
}

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
