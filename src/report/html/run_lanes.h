// The lanes of a run's processes as a page holds them: compressed, with what the document shows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/process_view.h"
#include "analyze/rank_waits.h"
#include "report/html/block_packer.h"
#include "report/html/contents.h"
#include "report/html/lane.h"
#include "report/html/process_lanes.h"
#include "report/html/sites.h"
#include "report/html/step_picture.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// Lanes and their blocks, in the order of the numbers of their events.
class EncodedLanes {
 public:
  // `strings`, here and below: what the names of events count into.
  void add(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix, const Strings& strings);

  // The same piece by piece. `lane`: its events are not looked at. `events`: of one block.
  void begin(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix);
  void add_block(std::span<const Event> events, const Strings& strings);

  const std::vector<LaneEntry>& lanes() const { return lanes_; }
  // The text of each, by id.
  const std::vector<std::shared_future<std::string>>& blocks() const { return blocks_; }

 private:
  std::vector<LaneEntry> lanes_;
  std::vector<std::shared_future<std::string>> blocks_;
  // Of the last lane, by index into the strings: what its events say instead of the name.
  std::vector<std::uint32_t> name_in_lane_;
  // Copies of these lanes share it.
  std::shared_ptr<BlockPacker> packer_ = std::make_shared<BlockPacker>();
};

// What all runs of one page share.
struct PageData {
  Strings strings{};
  Sites sites{};
  std::vector<std::string> groups{};
  EncodedLanes encoded{};
  std::uint32_t next_number = 0;
};

// Takes processes one by one; the caller may drop each once it is added. While a process is added, this needs 16 bytes
// for each of its calls, kernels and other events, and 48 for each event of one block. Of a rank among others, the idle
// intervals of its devices stay until the page is written.
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
  // One of several processes that meet in collectives.
  struct Rank {
    std::uint32_t group;
    analyze::RankRun run;
    std::optional<analyze::Interval> stretch;  // as in ProcessLanes
    std::vector<Lane> states;
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
