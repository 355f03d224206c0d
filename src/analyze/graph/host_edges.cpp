// The time between the calls of a thread, and the waits of a thread for others: autograd's thread waits for the main
// thread, and a consumer waits for the data that another thread or a worker process prepares.
#include <unordered_map>
#include <utility>

#include "analyze/graph/batch_arrivals.h"
#include "analyze/graph/draft.h"
#include "analyze/graph/handovers.h"
#include "analyze/model/threads.h"

namespace turnpike::analyze {
namespace {

// Threads of which one at a time goes on: autograd's, and those that run forward passes.
Threads threads_that_take_turns(const Draft& draft, const Threads& autograd) {
  Threads threads = autograd;
  if (autograd.empty()) return threads;
  for (std::uint32_t index = 0; index < draft.graph.calls.size(); ++index) {
    const Call& call = draft.call(index);
    if (call.autograd_role == trace::AutogradRole::kForward) threads.insert(call.thread);
  }
  return threads;
}

void note_previous_calls(Draft& draft) {
  draft.graph.previous_call.assign(draft.graph.calls.size(), kNone);
  std::unordered_map<std::uint32_t, std::uint32_t> last_of_thread;
  for (std::uint32_t index = 0; index < draft.graph.calls.size(); ++index) {
    const auto [last, is_first] = last_of_thread.try_emplace(draft.call(index).thread, index);
    if (!is_first) draft.graph.previous_call[index] = std::exchange(last->second, index);
  }
}

}  // namespace

void add_host_edges(Draft& draft) {
  Graph& graph = draft.graph;
  const auto autograd = threads_busy_with_backward(draft.timeline, graph.calls);
  const auto turns = threads_that_take_turns(draft, autograd);
  note_previous_calls(draft);
  const std::vector<ThreadHandover> handovers = find_thread_handovers(draft);
  const std::vector<BatchArrival> arrivals = find_batch_arrivals(draft);
  std::uint32_t last_of_turns = kNone;
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
    const Call& call = draft.call(index);
    const std::int64_t start_ns = draft.start_of_call(index);
    const std::uint32_t own_before = graph.previous_call[index];
    std::uint32_t other = kNone;
    if (turns.contains(call.thread)) {
      other = std::exchange(last_of_turns, index);
      const bool is_handover = other != kNone && draft.call(other).thread != call.thread &&
                               (autograd.contains(call.thread) || autograd.contains(draft.call(other).thread)) &&
                               draft.end_of_call(other) <= start_ns;
      if (!is_handover) other = kNone;
    }
    if (other != kNone) {
      // The thread that goes on did nothing but wait since its own last call.
      draft.add_edge(graph.call_end(other), graph.call_start(index), start_ns - draft.end_of_call(other),
                     EdgeKind::kHandover);
    } else if (own_before == kNone) {
      draft.add_edge(Graph::kOriginPoint, graph.call_start(index), start_ns, EdgeKind::kOrigin);
    } else if (draft.end_of_call(own_before) <= start_ns) {
      const auto [from, own_ns] = handovers[index];
      const BatchArrival& arrival = arrivals[index];
      const std::int64_t gap_ns = arrival.is_awaited ? arrival.own_ns : start_ns - draft.end_of_call(own_before);
      draft.add_edge(graph.call_end(own_before), graph.call_start(index), from == kNone ? gap_ns : own_ns,
                     EdgeKind::kProgram);
      if (arrival.is_awaited) {
        draft.add_edge(arrival.since, graph.call_start(index), start_ns - graph.measured_ns[arrival.since],
                       EdgeKind::kBatch);
      }
      if (from != kNone) {
        draft.add_edge(graph.call_end(from), graph.call_start(index), start_ns - draft.end_of_call(from),
                       EdgeKind::kSignal);
      }
    } else {  // a call inside of another one
      draft.add_edge(graph.call_start(own_before), graph.call_start(index), start_ns - draft.start_of_call(own_before),
                     EdgeKind::kProgram);
    }
  }
}

}  // namespace turnpike::analyze
