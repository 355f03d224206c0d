// Looks at the samples of each pause between two calls of a thread.
#include "analyze/graph/batch_arrivals.h"

#include <array>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "analyze/cost_model.h"
#include "analyze/model/loader_frames.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

class PauseSamples {
 public:
  explicit PauseSamples(const Draft& draft) : draft_(draft) {}

  // By Doing: how many samples of the pause before the call show it.
  std::array<std::size_t, kDoingCount> count(std::uint32_t call) {
    std::array<std::size_t, kDoingCount> counts{};
    for (const trace::SampleRecord& sample : draft_.samples_before(call)) {
      if (const auto doing = doing_in(sample.stack)) ++counts[static_cast<std::size_t>(*doing)];
    }
    return counts;
  }

 private:
  std::optional<Doing> doing_in(std::uint32_t stack) {
    const auto [known, is_new] = doing_.try_emplace(stack);
    if (is_new && draft_.process.stacks.contains(stack))
      known->second = doing_of(trace::frames_of(draft_.process, stack));
    return known->second;
  }

  const Draft& draft_;
  std::unordered_map<std::uint32_t, std::optional<Doing>> doing_;  // by stack
};

}  // namespace

std::vector<BatchArrival> find_batch_arrivals(const Draft& draft) {
  const Graph& graph = draft.graph;
  std::vector<BatchArrival> arrivals(graph.calls.size());
  std::unordered_map<std::uint32_t, std::uint32_t> workers_since;  // by thread: point
  std::unordered_map<std::uint32_t, std::int64_t> waited_ns;       // by thread
  PauseSamples samples(draft);
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
    const std::uint32_t before = graph.previous_call[index];
    if (before == kNone) continue;
    const std::int64_t pause_ns = draft.start_of_call(index) - draft.end_of_call(before);
    if (pause_ns <= kPauseOfThreadNs) continue;
    const std::uint32_t thread = draft.call(index).thread;
    const auto counts = samples.count(index);
    if (counts[static_cast<std::size_t>(Doing::kStartsWorkers)] > 0) {
      workers_since[thread] = graph.call_start(index);
      continue;
    }
    const std::size_t waiting = counts[static_cast<std::size_t>(Doing::kAwaitsWorkers)];
    if (waiting == 0) continue;
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    const double own_share = static_cast<double>(all - waiting) / static_cast<double>(all);
    const auto own_ns = static_cast<std::int64_t>(own_share * static_cast<double>(pause_ns));
    const auto since = workers_since.find(thread);
    arrivals[index] = {true, since == workers_since.end() ? Graph::kOriginPoint : since->second, own_ns};
    waited_ns[thread] += pause_ns - own_ns;
  }
  const double late_ns = kLateWorkers * static_cast<double>(graph.window.end_ns - graph.window.start_ns);
  for (std::uint32_t index = 0; index < arrivals.size(); ++index) {
    if (!arrivals[index].is_awaited) continue;
    if (static_cast<double>(waited_ns[draft.call(index).thread]) < late_ns) arrivals[index] = {};
  }
  return arrivals;
}

}  // namespace turnpike::analyze
