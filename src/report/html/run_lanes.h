// The lanes of a run's processes as a page holds them, with what the document shows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/process_view.h"
#include "analyze/rank_waits.h"
#include "base/spilled_log.h"
#include "report/html/encoded_lanes.h"
#include "report/html/lane.h"
#include "report/html/process_lanes.h"
#include "report/html/sites.h"
#include "report/html/step_picture.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// What all runs of one page share.
struct PageData {
  Strings strings{};
  Sites sites{};
  std::vector<std::string> groups{};
  EncodedLanes encoded{};
  std::uint32_t next_number = 0;
  // Of events that are encoded later.
  std::shared_ptr<SpilledBytes> spilled = std::make_shared<SpilledBytes>();
};

// Takes processes one by one; the caller may drop each once it is added. While a process is added, this needs 4 bytes
// for each of its events in the page but idle intervals, a few bits for each of its calls, and 48 bytes for each event
// of one block. Blocks, and what is encoded later, go to a temporary file beyond a few MB. Writing the page takes 48
// bytes for each idle interval of one device of a rank among others.
class RunLanes {
 public:
  struct Fix {
    FixedStep step;
    std::uint32_t group;
  };

  // `process_count`: how many will be added; they share the room for events. `label`: of one of two runs; it stands
  // before the name of each process.
  RunLanes(PageData& data, std::size_t max_events, std::size_t process_count, std::string label = "");
  RunLanes(const RunLanes&) = delete;
  RunLanes& operator=(const RunLanes&) = delete;

  void add(const analyze::ProcessView& view);

  // The time from the first event to the last, or nullopt without events.
  std::optional<analyze::Interval> extent() const;
  // Of the process that did most in its step. With what its devices wait for other ranks, once all are added.
  StepPicture picture() const;
  // That step; nullopt: no process has steps.
  std::optional<analyze::Interval> step() const;
  // The same where a place (index into the page's) is in that step; else the step in which it costs most. Nullopt: it
  // is in no step. Only of one of two runs.
  std::optional<analyze::Interval> step_with(std::size_t site) const;
  // What to look at first, of the same process; nullopt: it has no steps.
  const std::optional<analyze::Interval>& opening() const { return opening_; }
  // The predicted step of each rule and place: of the process that would gain most.
  const std::vector<Fix>& fixes() const { return fixes_; }
  // What the devices of ranks waited for: known once all are added. Links do not point there.
  void add_rank_lanes(EncodedLanes& encoded, Strings& strings) const;
  // Sentences on what the page does not hold of the run.
  std::vector<std::string> left_out() const;

 private:
  // What a device of a rank waits for, which is encoded when the waits for other ranks are known.
  struct StateLane {
    std::uint32_t device;
    SpilledLog<Event> events;
  };
  // One of several processes that meet in collectives.
  struct Rank {
    std::uint32_t group;
    analyze::RankRun run;
    std::optional<analyze::Interval> stretch;  // as in ProcessLanes
    std::vector<StateLane> states;
  };

  std::vector<analyze::RankRun> rank_runs() const;
  class Taking;

  void keep_fix(FixedStep step, std::uint32_t group);
  void choose_picture(const ProcessLanes& lanes, Taking& taken, std::optional<std::size_t> rank);

  PageData& data_;
  std::size_t max_events_of_process_;
  bool has_others_;  // beside one process
  std::string label_;
  std::vector<Fix> fixes_;
  std::optional<std::int64_t> reference_ns_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::vector<Rank> ranks_;
  StepPicture picture_;
  std::optional<std::size_t> picture_rank_;  // index into ranks_
  std::optional<analyze::Interval> opening_;
  std::size_t picture_spans_ = 0;
  std::map<std::uint16_t, analyze::Interval> step_of_site_;  // by number, as in events
  std::uint64_t left_out_ = 0;
  std::uint64_t too_deep_ = 0;
  std::uint64_t untimed_ = 0;
  std::uint64_t lost_stretches_ = 0;
  bool has_untimed_losses_ = false;
};

// For when the page has places without room.
std::string dropped_sites_sentence(const Sites& sites);

// Of two steps with a fix, or of one and a finding.
template <typename Other>
bool is_of_one_finding(const FixedStep& step, const Other& other) {
  return step.rule == other.rule && step.site == other.site && step.library_site == other.library_site;
}

}  // namespace turnpike::report::html
