// Groups pauses. One without a sample is as most others of its place.
#include "analyze/rules/batch_waits.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/rules/batch_pauses.h"
#include "analyze/rules/measure.h"

namespace turnpike::analyze {
namespace {

struct Loop {
  Doing doing;
  Where where;
  auto key() const { return std::tuple(doing, where.file.value_or(""), where.site); }
};

// The pauses of one line that takes batches.
class PausesOfLine {
 public:
  explicit PausesOfLine(const ProcessModel& model) : model_(model) {}

  void add(const BatchPause& pause) {
    if (pause.of_loader() == 0) return;
    has_loader_ = true;
    const auto loop = loop_of(pause);
    if (loop.doing != Doing::kStartsWorkers && loop.doing != Doing::kOtherWork) {
      ++usual_.try_emplace(loop.key(), loop, 0u).first->second.second;
    }
  }

  bool has_loader() const { return has_loader_; }

  // To be asked when all were added.
  Loop loop_of(const BatchPause& pause) const {
    if (pause.all() == 0 && has_loader_) return usual().value_or(other_work(pause));
    if (pause.count(Doing::kStartsWorkers) > 0) return Loop{Doing::kStartsWorkers, line_of_loop(pause)};
    if (2 * pause.of_other_work(has_loader_) > pause.all()) return other_work(pause);
    if (!has_loader_) return Loop{Doing::kElse, line_of(model_, pause.taker)};
    constexpr std::array kOfABatch = {Doing::kAwaitsWorkers, Doing::kReceives, Doing::kLoads};
    const auto most = std::max_element(kOfABatch.begin(), kOfABatch.end(),
                                       [&](Doing a, Doing b) { return pause.count(a) < pause.count(b); });
    return Loop{*most, line_of_loop(pause)};
  }

  Loop other_work(const BatchPause& pause) const { return {Doing::kOtherWork, line_of(model_, pause.taker)}; }

 private:
  std::optional<Loop> usual() const {
    const auto most = std::max_element(usual_.begin(), usual_.end(),
                                       [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    return most == usual_.end() ? std::nullopt : std::optional(most->second.first);
  }

  Where line_of_loop(const BatchPause& pause) const {
    return pause.loop ? without_library(*pause.loop) : line_of(model_, pause.taker);
  }

  const ProcessModel& model_;
  bool has_loader_ = false;
  std::map<decltype(Loop{}.key()), std::pair<Loop, std::size_t>> usual_;  // with how many pauses
};

std::int64_t part_ns(const Interval& time, std::size_t samples, std::size_t all) {
  if (all == 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(time.end_ns - time.start_ns) * static_cast<double>(samples) /
                                   static_cast<double>(all));
}

// Whether no call like the one that takes the batch was made before.
bool is_first_batch(const ProcessModel& model, const BatchPause& pause) {
  const Call& taker = model.call(pause.taker);
  const auto& calls = model.timeline().calls;
  return std::none_of(calls.begin(), calls.begin() + model.graph().calls[pause.taker],
                      [&](const Call& call) { return call.thread == taker.thread && call.stack == taker.stack; });
}

void add_pause(const BatchPause& pause, bool has_loader, BatchWaits& waits) {
  const std::int64_t other_ns = part_ns(pause.time, pause.of_other_work(has_loader), pause.all());
  waits.takers.push_back(pause.taker);
  waits.gaps.push_back(pause.time);
  waits.total_ns += pause.time.end_ns - pause.time.start_ns - other_ns;
  waits.other_ns += other_ns;
  waits.awaiting_ns += part_ns(pause.time, pause.count(Doing::kAwaitsWorkers), pause.all());
}

using WaitsByLoop = std::map<decltype(Loop{}.key()), BatchWaits>;

BatchWaits& waits_of(const Loop& loop, WaitsByLoop& by_loop) {
  return by_loop.try_emplace(loop.key(), BatchWaits{loop.doing, loop.where}).first->second;
}

void add_to_loop(const ProcessModel& model, const BatchPause& pause, const PausesOfLine& line, WaitsByLoop& by_loop) {
  const Loop loop = line.loop_of(pause);
  BatchWaits& waits = waits_of(loop, by_loop);
  if (loop.doing == Doing::kStartsWorkers) {
    if (pause.loop) waits.where = *pause.loop;
    const bool may_be_first = waits.takers.empty() && !waits.has_first_epoch;
    if (may_be_first && is_first_batch(model, pause)) {
      waits.has_first_epoch = true;
      return add_pause(pause, true, waits_of(line.other_work(pause), by_loop));
    }
  }
  add_pause(pause, line.has_loader(), waits);
}

std::set<std::uint32_t> steps_taken_by(const ProcessModel& model, const std::vector<BatchWaits>& all,
                                       const std::set<std::uint32_t>& stacks) {
  std::set<std::uint32_t> steps;
  for (const BatchWaits& one : all) {
    for (const std::uint32_t taker : one.takers) {
      if (stacks.contains(model.call(taker).stack)) steps.insert(model.step_of(taker));
    }
  }
  return steps;
}

// Of an upload for which no batch was ready.
std::optional<Interval> wait_before(const ProcessModel& model, std::uint32_t call) {
  const std::uint32_t before = model.graph().previous_call[call];
  if (before == kNone) return std::nullopt;
  const Interval pause{model.call(before).end_ns, model.call(call).start_ns};
  if (pause.end_ns - pause.start_ns <= kReadyBatchNs) return std::nullopt;
  if (link_bytes(model, call, Direction::kHostToDevice) == 0) return std::nullopt;
  return is_work_of_another_kind(model, call) ? std::nullopt : std::optional(pause);
}

}  // namespace

std::vector<BatchWaits> find_batch_waits(const ProcessModel& model) {
  const std::vector<BatchPause> pauses = find_batch_pauses(model);
  std::map<std::string, PausesOfLine> lines;
  for (const BatchPause& pause : pauses) lines.try_emplace(pause.site, model).first->second.add(pause);
  WaitsByLoop by_loop;
  for (const BatchPause& pause : pauses) add_to_loop(model, pause, lines.at(pause.site), by_loop);
  std::vector<BatchWaits> found;
  for (auto& [key, waits] : by_loop) found.push_back(std::move(waits));
  return found;
}

void add_shorter_waits(const ProcessModel& model, const std::vector<BatchWaits>& all, BatchWaits& waits) {
  std::set<std::uint32_t> stacks;
  for (const std::uint32_t taker : waits.takers) stacks.insert(model.call(taker).stack);
  std::set<std::uint32_t> done = steps_taken_by(model, all, stacks);  // a step takes one batch
  std::map<std::uint32_t, Interval> by_taker;
  for (std::size_t i = 0; i < waits.takers.size(); ++i) by_taker.emplace(waits.takers[i], waits.gaps[i]);
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (!stacks.contains(model.call(call).stack) || done.contains(model.step_of(call))) continue;
    const auto pause = wait_before(model, call);
    if (!pause) continue;
    done.insert(model.step_of(call));
    by_taker.emplace(call, *pause);
    waits.total_ns += pause->end_ns - pause->start_ns;
  }
  waits.takers.clear();
  waits.gaps.clear();
  for (const auto& [taker, gap] : by_taker) {
    waits.takers.push_back(taker);
    waits.gaps.push_back(gap);
  }
}

}  // namespace turnpike::analyze
