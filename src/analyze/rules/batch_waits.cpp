// Looks at the samples in each pause. A pause without a sample is as most others of its place.
#include "analyze/rules/batch_waits.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/model/batch_gaps.h"
#include "analyze/rules/measure.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// What a sample shows.
struct SampleShows {
  Doing doing;
  std::optional<Where> loop;
};

// By stack: many samples have the same.
class SampleReader {
 public:
  explicit SampleReader(const ProcessModel& model) : model_(model) {}

  const SampleShows& of(std::uint32_t stack) {
    const auto known = by_stack_.find(stack);
    if (known != by_stack_.end()) return known->second;
    const auto frames = trace::frames_of(model_.process(), stack);
    return by_stack_.emplace(stack, SampleShows{doing_of(frames), loop_line_of(frames)}).first->second;
  }

 private:
  const ProcessModel& model_;
  std::map<std::uint32_t, SampleShows> by_stack_;
};

struct Pause {
  Interval time;
  std::uint32_t taker;
  std::string site;  // of the taker
  std::array<std::size_t, kDoingCount> samples{};
  std::optional<Where> loop{};  // of the last sample that shows one

  std::size_t count(Doing doing) const { return samples[static_cast<std::size_t>(doing)]; }
  std::size_t all() const { return std::accumulate(samples.begin(), samples.end(), std::size_t{0}); }
  std::size_t of_loader() const {
    return count(Doing::kStartsWorkers) + count(Doing::kAwaitsWorkers) + count(Doing::kLoads);
  }
  std::size_t of_other_work(bool has_loader) const {
    return count(Doing::kWritesResults) + (has_loader ? count(Doing::kElse) : 0);
  }
};

// What the thread did before the call was to copy into memory that it had just page-locked, or to work on as many bytes
// as had just come down: other rules tell that.
bool is_work_of_another_kind(const ProcessModel& model, std::uint32_t call) {
  std::uint32_t before = model.graph().previous_call[call];
  if (before != kNone && model.call(before).kind == trace::CallKind::kSynchronize) {
    before = model.graph().previous_call[before];
  }
  if (before == kNone) return false;
  const trace::CallKind kind = model.call(before).kind;
  if (kind == trace::CallKind::kHostAlloc || kind == trace::CallKind::kHostRegister) return true;
  const std::uint64_t down = link_bytes(model, before, Direction::kDeviceToHost);
  return down > 0 && down == link_bytes(model, call, Direction::kHostToDevice);
}

void read_samples(const ProcessModel& model, SampleReader& reader, Pause& pause) {
  const auto& samples = model.timeline().samples;
  const std::uint32_t thread = model.call(pause.taker).thread;
  auto sample = std::lower_bound(samples.begin(), samples.end(), std::pair(thread, pause.time.start_ns),
                                 [](const trace::SampleRecord& one, const std::pair<std::uint32_t, std::int64_t>& at) {
                                   return std::pair(one.thread, one.time_ns) < at;
                                 });
  for (; sample != samples.end() && sample->thread == thread && sample->time_ns < pause.time.end_ns; ++sample) {
    if (!model.process().stacks.contains(sample->stack)) continue;
    const SampleShows& shows = reader.of(sample->stack);
    ++pause.samples[static_cast<std::size_t>(shows.doing)];
    if (shows.loop) pause.loop = shows.loop;
  }
}

std::vector<Pause> find_pauses_for_batches(const ProcessModel& model) {
  std::vector<Pause> pauses;
  SampleReader reader(model);
  std::uint32_t call = 0;
  for (const Interval& gap : model.batch_gaps()) {
    const auto count = static_cast<std::uint32_t>(model.graph().calls.size());
    while (call < count && model.call(call).start_ns < gap.end_ns) ++call;
    if (call == count) break;
    if (model.call(call).start_ns != gap.end_ns) continue;  // outside of the stretch
    if (is_work_of_another_kind(model, call)) continue;
    pauses.push_back({.time = gap, .taker = call, .site = model.facts_of_call(call).place.site});
    read_samples(model, reader, pauses.back());
  }
  return pauses;
}

struct Loop {
  Doing doing;
  Where where;
  auto key() const { return std::tuple(doing, where.file.value_or(""), where.site); }
};

// The pauses of one line that takes batches.
class PausesOfLine {
 public:
  explicit PausesOfLine(const ProcessModel& model) : model_(model) {}

  void add(const Pause& pause) {
    if (pause.of_loader() == 0) return;
    has_loader_ = true;
    const auto loop = loop_of(pause);
    if (loop && loop->doing != Doing::kStartsWorkers) ++usual_.try_emplace(loop->key(), *loop, 0u).first->second.second;
  }

  bool has_loader() const { return has_loader_; }

  // nullopt: it was mostly for other work. To be asked when all were added.
  std::optional<Loop> loop_of(const Pause& pause) const {
    if (pause.all() == 0 && has_loader_) return usual();
    if (pause.count(Doing::kStartsWorkers) > 0) return Loop{Doing::kStartsWorkers, line_of_loop(pause)};
    if (2 * pause.of_other_work(has_loader_) > pause.all()) return std::nullopt;
    if (!has_loader_) return Loop{Doing::kElse, line_of(model_, pause.taker)};
    const bool awaits = pause.count(Doing::kAwaitsWorkers) >= pause.count(Doing::kLoads);
    return Loop{awaits ? Doing::kAwaitsWorkers : Doing::kLoads, line_of_loop(pause)};
  }

 private:
  std::optional<Loop> usual() const {
    const auto most = std::max_element(usual_.begin(), usual_.end(),
                                       [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    return most == usual_.end() ? std::nullopt : std::optional(most->second.first);
  }

  Where line_of_loop(const Pause& pause) const {
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
bool is_first_batch(const ProcessModel& model, const Pause& pause) {
  const Call& taker = model.call(pause.taker);
  const auto& calls = model.timeline().calls;
  return std::none_of(calls.begin(), calls.begin() + model.graph().calls[pause.taker],
                      [&](const Call& call) { return call.thread == taker.thread && call.stack == taker.stack; });
}

void add_pause(const Pause& pause, bool has_loader, BatchWaits& waits) {
  const std::int64_t other_ns = part_ns(pause.time, pause.of_other_work(has_loader), pause.all());
  waits.takers.push_back(pause.taker);
  waits.gaps.push_back(pause.time);
  waits.total_ns += pause.time.end_ns - pause.time.start_ns - other_ns;
  waits.other_ns += other_ns;
  waits.awaiting_ns += part_ns(pause.time, pause.count(Doing::kAwaitsWorkers), pause.all());
}

}  // namespace

std::uint64_t link_bytes(const ProcessModel& model, std::uint32_t call, Direction direction) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer != nullptr && transfer->direction == direction) bytes += transfer->bytes;
  }
  return bytes;
}

std::vector<BatchWaits> find_batch_waits(const ProcessModel& model) {
  const std::vector<Pause> pauses = find_pauses_for_batches(model);
  std::map<std::string, PausesOfLine> lines;
  for (const Pause& pause : pauses) lines.try_emplace(pause.site, model).first->second.add(pause);
  std::map<decltype(Loop{}.key()), BatchWaits> by_loop;
  for (const Pause& pause : pauses) {
    const PausesOfLine& line = lines.at(pause.site);
    const auto loop = line.loop_of(pause);
    if (!loop) continue;
    BatchWaits& waits = by_loop.try_emplace(loop->key(), BatchWaits{loop->doing, loop->where}).first->second;
    if (loop->doing == Doing::kStartsWorkers) {
      if (pause.loop) waits.where = *pause.loop;
      const bool may_be_first = waits.takers.empty() && !waits.has_first_epoch;
      if (may_be_first && (waits.has_first_epoch = is_first_batch(model, pause))) continue;
    }
    add_pause(pause, line.has_loader(), waits);
  }
  std::vector<BatchWaits> found;
  for (auto& [key, waits] : by_loop) found.push_back(std::move(waits));
  return found;
}

void add_shorter_waits(const ProcessModel& model, const std::vector<BatchWaits>& all, BatchWaits& waits) {
  std::set<std::uint32_t> stacks;
  for (const std::uint32_t taker : waits.takers) stacks.insert(model.call(taker).stack);
  std::set<std::uint32_t> done;  // a step takes one batch
  for (const BatchWaits& one : all) {
    for (const std::uint32_t taker : one.takers) {
      if (stacks.contains(model.call(taker).stack)) done.insert(model.step_of(taker));
    }
  }
  const std::set<std::uint32_t> known(waits.takers.begin(), waits.takers.end());
  Selection takers;
  std::vector<Interval> gaps;
  auto gap = waits.gaps.begin();
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (known.contains(call)) {
      takers.push_back(call);
      gaps.push_back(*gap++);
      continue;
    }
    const std::uint32_t before = model.graph().previous_call[call];
    if (before == kNone || !stacks.contains(model.call(call).stack) || done.contains(model.step_of(call))) continue;
    const Interval pause{model.call(before).end_ns, model.call(call).start_ns};
    const std::int64_t pause_ns = pause.end_ns - pause.start_ns;
    if (pause_ns <= kReadyBatchNs || pause_ns > kQuietNs) continue;
    if (link_bytes(model, call, Direction::kHostToDevice) == 0) continue;
    if (is_work_of_another_kind(model, call)) continue;
    done.insert(model.step_of(call));
    takers.push_back(call);
    gaps.push_back(pause);
    waits.total_ns += pause_ns;
  }
  waits.takers = std::move(takers);
  waits.gaps = std::move(gaps);
}

}  // namespace turnpike::analyze
