// The lanes of a run's processes as a page holds them: compressed, with what the document shows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyze/process_view.h"
#include "report/html/contents.h"
#include "report/html/process_lanes.h"
#include "report/html/sites.h"
#include "report/html/step_picture.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// Lanes and their blocks, in the order of the numbers of their events.
struct EncodedLanes {
  std::vector<LaneEntry> lanes{};
  std::vector<std::string> blocks{};  // the text of each, by id

  // `strings`: what the names of events count into.
  void add(Lane lane, std::uint32_t group, std::optional<std::size_t> fix, const Strings& strings);
};

// What all runs of one page share.
struct PageData {
  Strings strings{};
  Sites sites{};
  std::vector<std::string> groups{};
  EncodedLanes encoded{};
  std::uint32_t next_number = 0;
};

// Add processes one by one; each can be dropped once it is added. Memory beside what stays: 48 bytes for each event of
// the process that is being added and that the page has room for, and 12 for each of its calls and kernels.
class RunLanes {
 public:
  struct Fix {
    FixedStep step;
    std::uint32_t group;
  };

  // `process_count`: how many will be added; they share the room for events. `label` stands before the name of each.
  RunLanes(PageData& data, std::size_t max_events, std::size_t process_count, std::string label = "");
  RunLanes(const RunLanes&) = delete;
  RunLanes& operator=(const RunLanes&) = delete;

  void add(const analyze::ProcessView& view);

  // From the first event to the last; nullopt: there is none.
  std::optional<analyze::Interval> extent() const;
  // Of the process that did most in its step.
  const StepPicture& picture() const { return picture_; }
  // The predicted step of each rule and place: of the process that would gain most.
  const std::vector<Fix>& fixes() const { return fixes_; }
  // Sentences on what the page does not hold of the run.
  std::vector<std::string> left_out() const;

 private:
  void note_extent(const Lane& lane);
  void keep_fix(FixedStep step, std::uint32_t group);
  void choose_picture(const ProcessLanes& lanes);

  PageData& data_;
  std::size_t max_events_of_process_;
  std::string label_;
  std::vector<Fix> fixes_;
  std::optional<std::int64_t> reference_ns_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  StepPicture picture_;
  std::size_t picture_spans_ = 0;
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
