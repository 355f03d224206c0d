// Looks for pauses of a thread that end when another thread's call has returned, and for what shows that it is no
// chance.
#include "analyze/graph/handovers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyze/cost_model.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// In a pause at one place so many at least must end so, and this share of them, before the order of the work alone is
// taken for evidence.
constexpr std::size_t kFewPauses = 3;
constexpr double kMostPauses = 0.8;

struct Pause {
  std::uint32_t call;  // that ends it
  std::uint32_t from;  // that returned last on another thread before; kNone: too long before
  Interval time;
};

// Whether Python's `threading` waits: for a lock, a condition, an event or another thread.
bool is_waiting(const trace::Process& process, std::uint32_t stack) {
  for (const trace::Frame* frame : trace::frames_of(process, stack)) {
    if (frame->kind != trace::FrameKind::kPython) continue;
    const std::string_view function = frame->function;
    return std::string_view(frame->file).ends_with("/threading.py") &&
           (function.ends_with("wait") || function.ends_with("_lock") || function.ends_with("acquire"));
  }
  return false;
}

class PauseFinder {
 public:
  explicit PauseFinder(const Draft& draft) : draft_(draft) {}

  std::vector<Pause> find() {
    std::vector<Pause> pauses;
    const auto& graph = draft_.graph;
    for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
      const std::uint32_t before = graph.previous_call[index];
      last_of_thread_[draft_.call(index).thread] = index;
      if (before == kNone) continue;
      const Interval time{draft_.end_of_call(before), draft_.start_of_call(index)};
      if (time.end_ns - time.start_ns > kPauseOfThreadNs) pauses.push_back({index, released_by(index, time), time});
    }
    return pauses;
  }

 private:
  std::uint32_t released_by(std::uint32_t index, const Interval& pause) const {
    std::uint32_t found = kNone;
    for (const auto& [thread, last] : last_of_thread_) {
      if (thread == draft_.call(index).thread) continue;
      std::uint32_t candidate = last;
      if (draft_.end_of_call(candidate) > pause.end_ns) candidate = draft_.graph.previous_call[candidate];
      if (candidate == kNone) continue;
      const std::int64_t end_ns = draft_.end_of_call(candidate);
      if (end_ns <= pause.start_ns || end_ns > pause.end_ns || pause.end_ns - end_ns > kHandoverNs) continue;
      if (found == kNone || end_ns > draft_.end_of_call(found)) found = candidate;
    }
    return found;
  }

  const Draft& draft_;
  std::map<std::uint32_t, std::uint32_t> last_of_thread_;
};

// What samples show of the pauses at one place.
struct Sampled {
  std::size_t count = 0;
  std::size_t waiting = 0;
};

class Evidence {
 public:
  Evidence(const Draft& draft, const std::vector<Pause>& pauses) : draft_(draft) {
    for (const Pause& pause : pauses) {
      add_samples(pause);
      if (pause.from == kNone) continue;
      auto& [all, ordered] = order_of_place_[place_of(pause)];
      ++all;
      if (is_behind_copy_of(pause)) ++ordered;
    }
  }

  bool has(const Pause& pause) const {
    if (const auto sampled = samples_of_place_.find(place_of(pause)); sampled != samples_of_place_.end())
      return sampled->second.waiting > 0;
    const auto order = order_of_place_.find(place_of(pause));
    if (order == order_of_place_.end() || !is_behind_copy_of(pause)) return false;
    const auto& [all, ordered] = order->second;
    return ordered >= kFewPauses && static_cast<double>(ordered) >= kMostPauses * static_cast<double>(all);
  }

  // The share of the pause in which samples do not show a wait. Where there are no samples: none of it.
  std::int64_t own_ns(const Pause& pause) const {
    const auto sampled = samples_of_place_.find(place_of(pause));
    if (sampled == samples_of_place_.end()) return 0;
    const auto& [count, waiting] = sampled->second;
    const double share = static_cast<double>(count - waiting) / static_cast<double>(count);
    return static_cast<std::int64_t>(share * static_cast<double>(pause.time.end_ns - pause.time.start_ns));
  }

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;

  Place place_of(const Pause& pause) const { return {draft_.call(pause.call).thread, draft_.call(pause.call).stack}; }

  void add_samples(const Pause& pause) {
    for (const trace::SampleRecord& sample : draft_.samples_before(pause.call)) {
      Sampled& of_place = samples_of_place_[place_of(pause)];
      ++of_place.count;
      const auto [known, is_new] = is_waiting_.try_emplace(sample.stack);
      if (is_new) known->second = is_waiting(draft_.process, sample.stack);
      if (known->second) ++of_place.waiting;
    }
  }

  // Whether the first work that the thread then asks for follows a copy of the other call on its stream.
  bool is_behind_copy_of(const Pause& pause) const {
    const auto operations = draft_.operations_of_call[pause.call];
    if (operations.empty()) return false;
    const std::uint32_t before = draft_.graph.operations[operations.front()].before;
    if (before == kNone || pause.from == kNone) return false;
    const Operation& awaited = draft_.graph.operations[before];
    return awaited.transfer != kNone && awaited.call == pause.from;
  }

  const Draft& draft_;
  std::map<Place, Sampled> samples_of_place_;
  std::map<Place, std::pair<std::size_t, std::size_t>> order_of_place_;  // all pauses, and those with ordered work
  std::unordered_map<std::uint32_t, bool> is_waiting_;                   // by stack
};

bool has_several_threads(const Draft& draft) {
  for (std::uint32_t index = 1; index < draft.graph.calls.size(); ++index) {
    if (draft.call(index).thread != draft.call(0).thread) return true;
  }
  return false;
}

}  // namespace

std::vector<ThreadHandover> find_thread_handovers(const Draft& draft) {
  std::vector<ThreadHandover> handovers(draft.graph.calls.size());
  if (!has_several_threads(draft)) return handovers;
  const std::vector<Pause> pauses = PauseFinder(draft).find();
  const Evidence evidence(draft, pauses);
  for (const Pause& pause : pauses) {
    if (pause.from == kNone || !evidence.has(pause)) continue;
    handovers[pause.call] = {pause.from, evidence.own_ns(pause)};
  }
  return handovers;
}

}  // namespace turnpike::analyze
