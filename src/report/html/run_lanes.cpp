#include "report/html/run_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/units.h"
#include "report/html/lane_sink.h"
#include "report/html/steps_of_sites.h"

namespace turnpike::report::html {
namespace {

Event wait_event(const analyze::RankWaitInterval& wait, std::span<const analyze::RankRun> runs, Strings& strings) {
  const std::string& given = runs[wait.awaited_rank].collectives.rank;
  const std::string rank = given.empty() ? std::to_string(wait.awaited_rank) : given;
  return {.start_ns = wait.time.start_ns,
          .duration_ns = length_ns(wait.time.start_ns, wait.time.end_ns),
          .name = strings.number_of(fmt::format("waits for rank {} in {}", rank, wait.collective)),
          .event_class = Class::kIdleRank};
}

// What the devices of a rank wait for is encoded once the waits for other ranks are known.
bool is_kept_for_ranks(const Lane& lane, bool is_of_rank) {
  return is_of_rank && lane.kind == LaneKind::kState;
}

}  // namespace

// The lanes of one process on their way into the page.
class RunLanes::Taking final : public LaneSink {
 public:
  Taking(RunLanes& run, std::uint32_t group, bool is_rank) : run_(run), group_(group), is_rank_(is_rank) {}

  void show_step(const analyze::Interval& step) override { picture_.show_step(step); }

  void begin_lane(const Lane& lane) override {
    is_kept_ = is_kept_for_ranks(lane, is_rank_);
    if (is_kept_) {
      states_.push_back({lane.device.value_or(trace::kUnknownId), SpilledLog<Event>(run_.data_.spilled)});
    } else {
      run_.data_.encoded.begin(lane, group_, std::nullopt);
    }
    picture_.begin_lane(lane);
    if (has_label()) steps_of_sites_.begin_lane(lane.kind);
  }

  void add_block(std::span<const Event> events) override {
    run_.first_ns_ = std::min(run_.first_ns_, events.front().start_ns);
    run_.last_ns_ = std::max(run_.last_ns_, events.back().end_ns());
    if (is_kept_) {
      for (const Event& event : events) states_.back().events.push_back(event);
    } else {
      run_.data_.next_number += static_cast<std::uint32_t>(events.size());
      run_.data_.encoded.add_block(events, run_.data_.strings);
    }
    picture_.add_block(events);
    if (has_label()) steps_of_sites_.add_block(events);
  }

  StepPicture take_picture() { return std::move(picture_).take(); }
  std::map<std::uint16_t, analyze::Interval> steps_of_sites(const analyze::Interval& median) const {
    return steps_of_sites_.find(median);
  }
  std::vector<StateLane> take_states() { return std::move(states_); }

 private:
  // Only a page of two runs asks for them.
  bool has_label() const { return !run_.label_.empty(); }

  RunLanes& run_;
  std::uint32_t group_;
  bool is_rank_;
  bool is_kept_ = false;  // the lane that is on its way
  PictureMaker picture_;
  StepsOfSites steps_of_sites_;
  std::vector<StateLane> states_;
};

RunLanes::RunLanes(PageData& data, std::size_t max_events, std::size_t process_count, std::string label)
    : data_(data),
      max_events_of_process_(max_events / std::max<std::size_t>(1, process_count)),
      has_others_(process_count > 1),
      label_(std::move(label)) {}

void RunLanes::add(const analyze::ProcessView& view) {
  if (!reference_ns_) reference_ns_ = typical_time_ns(view.timeline);
  const bool is_rank = has_others_ && view.rank != nullptr;
  const auto group = static_cast<std::uint32_t>(data_.groups.size());
  Taking taking(*this, group, is_rank);
  ProcessLanes lanes = lanes_of({.view = view,
                                 .max_events = max_events_of_process_,
                                 .reference_ns = reference_ns_.value_or(0),
                                 .first_number = data_.next_number},
                                data_.strings, data_.sites, taking);
  left_out_ += lanes.left_out;
  too_deep_ += lanes.too_deep;
  untimed_ += lanes.untimed;
  lost_stretches_ += lanes.lost_stretches;
  has_untimed_losses_ = has_untimed_losses_ || lanes.has_untimed_losses;
  choose_picture(lanes, taking, is_rank ? std::optional(ranks_.size()) : std::nullopt);
  data_.groups.push_back(label_ + lanes.group);
  if (is_rank) ranks_.push_back({group, *view.rank, lanes.stretch, taking.take_states()});
  for (FixedStep& step : lanes.fixed_steps) keep_fix(std::move(step), group);
}

std::optional<analyze::Interval> RunLanes::extent() const {
  if (first_ns_ > last_ns_) return std::nullopt;
  return analyze::Interval{first_ns_, last_ns_};
}

void RunLanes::keep_fix(FixedStep step, std::uint32_t group) {
  for (const Lane& lane : step.lanes) {
    if (!lane.events.empty()) first_ns_ = std::min(first_ns_, lane.events.front().start_ns);
  }
  const auto known =
      std::find_if(fixes_.begin(), fixes_.end(), [&](const Fix& fix) { return is_of_one_finding(fix.step, step); });
  if (known == fixes_.end()) {
    fixes_.push_back({std::move(step), group});
  } else if (step.saving_pct > known->step.saving_pct) {
    *known = {std::move(step), group};
  }
}

void RunLanes::choose_picture(const ProcessLanes& lanes, Taking& taken, std::optional<std::size_t> rank) {
  StepPicture picture = taken.take_picture();
  std::size_t spans = 0;
  for (const PictureRow& row : picture.rows) spans += row.spans.size();
  const bool is_better = picture.is_step != picture_.is_step ? picture.is_step : spans > picture_spans_;
  if (!is_better) return;
  picture_ = std::move(picture);
  picture_spans_ = spans;
  picture_rank_ = rank;
  opening_ = lanes.opening;
  if (!label_.empty() && picture_.is_step) step_of_site_ = taken.steps_of_sites(picture_.window);
}

std::optional<analyze::Interval> RunLanes::step_with(std::size_t site) const {
  const auto found = step_of_site_.find(static_cast<std::uint16_t>(site + 1));
  return found == step_of_site_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<analyze::Interval> RunLanes::step() const {
  return picture_.is_step ? std::optional(picture_.window) : std::nullopt;
}

StepPicture RunLanes::picture() const {
  StepPicture picture = picture_;
  if (!picture_rank_) return picture;
  const auto waits = analyze::rank_wait_intervals(rank_runs());
  if (!waits) return picture;
  std::map<std::uint32_t, std::vector<PictureSpan>> by_device;
  for (const analyze::RankWaitInterval& wait : (*waits)[*picture_rank_]) {
    by_device[wait.device].push_back({wait.time.start_ns, wait.time.end_ns, Class::kIdleRank, 0});
  }
  for (auto& [device, spans] : by_device) {
    add_row({waits_for_ranks_title(device), LaneKind::kState, device, std::move(spans)}, picture);
  }
  return picture;
}

std::vector<analyze::RankRun> RunLanes::rank_runs() const {
  std::vector<analyze::RankRun> runs;
  for (const Rank& rank : ranks_) runs.push_back(rank.run);
  return runs;
}

void RunLanes::add_rank_lanes(EncodedLanes& encoded, Strings& strings) const {
  const std::vector<analyze::RankRun> runs = rank_runs();
  const auto waits = analyze::rank_wait_intervals(runs);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    // The waits among them; idle intervals are read when it is their device's turn.
    std::map<std::uint32_t, std::vector<Event>> by_device;
    for (const StateLane& lane : ranks_[i].states) by_device[lane.device];
    if (waits) {
      for (const analyze::RankWaitInterval& wait : (*waits)[i]) {
        if (is_gap_kept(wait.time, ranks_[i].stretch))
          by_device[wait.device].push_back(wait_event(wait, runs, strings));
      }
    }
    for (auto& [device, of_ranks] : by_device) {
      std::vector<Event> events;
      for (const StateLane& lane : ranks_[i].states) {
        if (lane.device == device)
          std::ranges::copy(lane.events.begin(), lane.events.end(), std::back_inserter(events));
      }
      events.insert(events.end(), of_ranks.begin(), of_ranks.end());
      Depths<Event> depths = spread(std::move(events));
      for (std::uint32_t depth = 0; depth < depths.rows.size(); ++depth) {
        Lane lane = state_lane(device);
        lane.depth = depth;
        lane.events = std::move(depths.rows[depth]);
        encoded.add(lane, ranks_[i].group, std::nullopt, strings);
      }
    }
  }
}

std::vector<std::string> RunLanes::left_out() const {
  std::vector<std::string> sentences;
  if (left_out_ > 0) {
    sentences.push_back(fmt::format(
        "{}{} kernels, calls and short gaps far from the median step are not in this file; --events says how many may "
        "be.",
        label_, count_text(left_out_)));
  }
  if (untimed_ > 0) {
    sentences.push_back(
        fmt::format("{}{} records have no usable times and are not in the timeline.", label_, count_text(untimed_)));
  }
  if (too_deep_ > 0) {
    sentences.push_back(
        fmt::format("{}{} events overlap more others than can be shown.", label_, count_text(too_deep_)));
  }
  if (lost_stretches_ > 0) {
    sentences.push_back(
        fmt::format("{}{} of the timeline {} cross-hatched: records were lost there, and a GPU may have worked.",
                    label_, count_text(lost_stretches_) + (lost_stretches_ == 1 ? " stretch" : " stretches"),
                    lost_stretches_ == 1 ? "is" : "are"));
  }
  if (has_untimed_losses_) {
    sentences.push_back(label_ + "Records were lost at times that nothing tells, so the timeline does not show where.");
  }
  return sentences;
}

std::string dropped_sites_sentence(const Sites& sites) {
  return fmt::format("{} places have no room; their events show none.", count_text(sites.dropped()));
}

}  // namespace turnpike::report::html
