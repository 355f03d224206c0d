// What ranks lose because they wait for each other in collectives, and what that leaves of a saving on some of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/findings.h"
#include "analyze/graph/edits.h"
#include "analyze/graph/process_model.h"
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

// What re-timing a rank's findings together with the other ranks needs, once the rank's records are gone.
struct RankSavings {
  using Key = std::tuple<std::string, std::string, std::string>;  // rule, site, library's site

  std::shared_ptr<const RunGraph> graph;  // nullptr: it is not re-timed
  std::size_t call_count = 0;
  Pauses pauses = Pauses::kLeftOut;
  std::map<Key, EditedEdges> tried{};
  EditedEdges all{};  // of all findings together
};
RankSavings rank_savings(const ProcessModel& model, const FoundFindings& found);

// Follows the processes of a run, and puts right what a report says of them one by one.
class RankEffects {
 public:
  // More are not re-timed together: each keeps a graph until all are known.
  static constexpr std::size_t kMostTogether = 8;

  // `measured_step_ns`: of the process; of the whole run where there are no steps.
  void add(RankRun run, double measured_step_ns, RankSavings savings);

  // Says in the verdict who waits for whom, adds what each waits to the report's idle time, and re-times the ranks
  // together with the changes of each finding on all of them: then a saving is what `turnpike whatif` says of the same
  // changes. Findings that gain too little so are dropped.
  void apply_to(Report& report) const;

 private:
  struct Member {
    double measured_step_ns;
    RankSavings savings;
  };

  std::string sentence_of(std::span<const RankWait> waits) const;
  void retime_savings(Report& report) const;
  void add_idle(Report& report) const;

  std::vector<RankRun> runs_;
  std::vector<Member> members_;  // of the same places
};

}  // namespace turnpike::analyze
