// What ranks lose because they wait for each other in collectives, and what that leaves of a saving on some of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/findings.h"
#include "analyze/model/collectives.h"
#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// A process as the other ranks meet it.
struct RankRun {
  RankCollectives collectives;
  IntervalSet other_kernels;     // when its devices had something else to do
  Interval window{0, 0};         // the steps that count; the whole run where there are none
  std::uint64_t step_count = 1;  // in the window
};
// What of a process is kept for that; nullopt: it holds no collectives.
std::optional<RankRun> rank_run(const trace::Process& process, const Timeline& timeline, const Interval& window,
                                std::uint64_t step_count);

// What one rank waited for others while its devices had nothing else to do.
struct RankWait {
  std::int64_t step_ns = 0;  // of a step, on average
  // Where it waited most, and for whom there.
  std::size_t awaited_rank = 0;
  std::string_view collective;
};
// By rank; nullopt: there are fewer than two, or their collectives could not be matched.
std::optional<std::vector<RankWait>> rank_waits(std::span<const RankRun> ranks);

// A stretch in which a rank waited so: IdleCause::kRank.
struct RankWaitInterval {
  Interval time;
  std::uint32_t device;
  std::size_t awaited_rank;
  std::string_view collective;
};
// By rank, in the order of time and without overlap, over the whole run; nullopt as above.
std::optional<std::vector<std::vector<RankWaitInterval>>> rank_wait_intervals(std::span<const RankRun> ranks);

// Follows the processes of a run, and puts right what a report says of them one by one.
class RankEffects {
 public:
  // `measured_step_ns`: of the process; of the whole run where there are no steps.
  void add(RankRun run, double measured_step_ns, const FoundFindings& found);

  // Says in the verdict who waits for whom, and adds what each waits to the report's idle time. A saving is what all
  // ranks have of it: one that gains, and then waits for another, gains no more than that one does, and what the wait
  // was. Findings that this leaves nothing of are dropped.
  void apply_to(Report& report) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // rule, site, library's site
  static Key key_of(const Finding& finding);
  struct Member {
    double measured_step_ns;
    std::map<Key, std::int64_t> saving_step_ns;
    std::optional<double> saving_pct_all;
  };

  std::string sentence_of(std::span<const RankWait> waits) const;
  void limit(Report& report, std::span<const RankWait> waits) const;
  void add_idle(Report& report) const;

  std::vector<RankRun> runs_;
  std::vector<Member> members_;  // of the same places
};

}  // namespace turnpike::analyze
