// What each operation of a device had to wait for, and how long after that it began.
#include <algorithm>
#include <array>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/graph/draft.h"
#include "analyze/graph/issue_order.h"
#include "analyze/model/blocking.h"

namespace turnpike::analyze {
namespace {

// Follows the calls in order, with what was issued last on each stream and what events stand for.
class EventWaits {
 public:
  explicit EventWaits(Draft& draft) : draft_(draft) {}

  void pass(std::uint32_t index) {
    const Call& call = draft_.call(index);
    issued_.pass(call);
    for (const std::uint32_t operation : draft_.operations_of_call[index]) issue(operation, call.thread);
  }

 private:
  void issue(std::uint32_t index, std::uint32_t thread) {
    for (const std::uint32_t awaited : issued_.issue(draft_.graph.operations[index], index, thread)) {
      if (awaited != index)
        draft_.constraints.push_back({index, draft_.graph.operation_end(awaited), EdgeKind::kEvent});
    }
  }

  Draft& draft_;
  IssueOrder issued_;
};

// The engine that carries a transfer: one for each direction over the link; copies within a device need none.
bool needs_engine(Direction direction) {
  return direction == Direction::kHostToDevice || direction == Direction::kDeviceToHost;
}

void find_constraints(Draft& draft) {
  Graph& graph = draft.graph;
  draft.constraints.reserve(3 * graph.operations.size());
  std::map<std::pair<std::uint32_t, Direction>, std::uint32_t> last_of_engine;
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const Operation& operation = graph.operations[index];
    if (operation.call != kNone) {
      draft.constraints.push_back({index, graph.call_start(operation.call), EdgeKind::kLaunch});
    }
    if (operation.before != kNone) {
      // Branches of a CUDA graph run beside each other under one stream's name.
      const bool is_over = graph.operations[operation.before].end_ns <= operation.start_ns + kClockSlackNs;
      draft.constraints.push_back(
          {index, is_over ? graph.operation_end(operation.before) : graph.operation_start(operation.before),
           EdgeKind::kStream});
    }
    if (operation.transfer == kNone) continue;
    const Direction direction = draft.timeline.transfers[operation.transfer].direction;
    if (!needs_engine(direction)) continue;
    const auto [last, is_first] = last_of_engine.try_emplace({operation.device, direction}, index);
    if (is_first) continue;
    const std::uint32_t before = std::exchange(last->second, index);
    if (before == operation.before || graph.operations[before].end_ns > operation.start_ns) continue;
    draft.constraints.push_back({index, graph.operation_end(before), EdgeKind::kEngine});
  }
  const auto sorted = static_cast<std::ptrdiff_t>(draft.constraints.size());
  EventWaits waits(draft);
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) waits.pass(index);
  add_default_stream_constraints(draft);
  const auto is_before = [](const Constraint& a, const Constraint& b) { return a.operation < b.operation; };
  const auto others = draft.constraints.begin() + sorted;
  std::stable_sort(others, draft.constraints.end(), is_before);
  std::inplace_merge(draft.constraints.begin(), others, draft.constraints.end(), is_before);
}

std::int64_t slack_of(const Draft& draft, const Constraint& constraint) {
  return draft.graph.measured_ns[draft.graph.operation_start(constraint.operation)] -
         draft.graph.measured_ns[constraint.from];
}

enum class LaunchKind { kKernel, kCopy, kStagedCopy };

LaunchKind launch_kind_of(const Draft& draft, const Operation& operation) {
  if (operation.kernel != kNone) return LaunchKind::kKernel;
  const Transfer& transfer = draft.timeline.transfers[operation.transfer];
  if (transfer.direction == Direction::kMemset) return LaunchKind::kKernel;
  const bool is_staged = transfer.direction == Direction::kHostToDevice &&
                         transfer.src_kind == trace::MemoryKind::kPageable && transfer.bytes > kStagedAboveBytes;
  return is_staged ? LaunchKind::kStagedCopy : LaunchKind::kCopy;
}

std::int64_t typical_launch(const TypicalLags& typical, LaunchKind kind) {
  switch (kind) {
    case LaunchKind::kKernel:
      return typical.kernel_launch;
    case LaunchKind::kCopy:
      return typical.copy_launch;
    case LaunchKind::kStagedCopy:
      return typical.staged_launch;
  }
  return 0;
}

// The lags of operations for which one reason alone can have decided.
void learn_lags(Draft& draft) {
  Graph& graph = draft.graph;
  std::array<LagSamples, 3> launch;  // by LaunchKind
  LagSamples stream;
  std::vector<bool> waits_for_other(graph.operations.size(), false);
  for (const Constraint& constraint : draft.constraints) {
    const bool is_of_other_stream = constraint.kind == EdgeKind::kEvent || constraint.kind == EdgeKind::kDefaultStream;
    if (is_of_other_stream) waits_for_other[constraint.operation] = true;
  }
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const Operation& operation = graph.operations[index];
    if (operation.call == kNone || operation.before == kNone || waits_for_other[index]) continue;
    const Operation& before = graph.operations[operation.before];
    const Call& call = draft.call(operation.call);
    LagSamples& of_kind = launch[static_cast<std::size_t>(launch_kind_of(draft, operation))];
    draft.learn_limit(of_kind, operation.call, operation.start_ns - call.start_ns);
    if (before.end_ns < call.start_ns) {
      draft.learn(of_kind, operation.call, operation.start_ns - call.start_ns);
    } else if (before.end_ns > call.end_ns + kBacklogNs && operation.start_ns >= before.end_ns) {
      draft.learn(stream, operation.call, operation.start_ns - before.end_ns);
    }
  }
  graph.typical.kernel_launch = usual_or(launch[0], kUsualLaunchNs, draft.lags);
  graph.typical.copy_launch = usual_or(launch[1], graph.typical.kernel_launch, draft.lags);
  graph.typical.staged_launch = usual_or(launch[2], graph.typical.copy_launch, draft.lags);
  graph.typical.stream = usual_or(stream, kUsualGapNs, draft.lags);
  LagSamples event;
  for (const Constraint& constraint : draft.constraints) {
    if (constraint.kind != EdgeKind::kEvent) continue;
    const Operation& operation = graph.operations[constraint.operation];
    if (operation.call == kNone) continue;
    const std::int64_t slack_ns = slack_of(draft, constraint);
    const bool was_decided_by_it = graph.measured_ns[constraint.from] > draft.end_of_call(operation.call) + kBacklogNs;
    if (was_decided_by_it && slack_ns >= 0 && slack_ns < kBacklogNs) {
      draft.learn(event, operation.call, slack_ns);
    }
  }
  graph.typical.event = usual_or(event, kUsualEventNs, draft.lags);
}

std::int64_t typical_lag(const Draft& draft, const Constraint& constraint) {
  const TypicalLags& typical = draft.graph.typical;
  switch (constraint.kind) {
    case EdgeKind::kLaunch:
      return typical_launch(typical, launch_kind_of(draft, draft.graph.operations[constraint.operation]));
    case EdgeKind::kEvent:
      return typical.event;
    default:
      return typical.stream;
  }
}

// The operations of a device in the order of their ends.
class Ends {
 public:
  explicit Ends(const Graph& graph) {
    for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
      by_device_[graph.operations[index].device].push_back(index);
    }
    for (auto& [device, operations] : by_device_) {
      std::stable_sort(operations.begin(), operations.end(), [&](std::uint32_t a, std::uint32_t b) {
        return graph.operations[a].end_ns < graph.operations[b].end_ns;
      });
    }
  }

  // The work of another stream that ended last before `operation` began, if it did so just then: a kernel that filled
  // the device, or anything that an event stood for of which the recording tells too little.
  std::uint32_t made_room_for(const Graph& graph, const Operation& operation) const {
    const auto& operations = by_device_.at(operation.device);
    auto after = std::upper_bound(
        operations.begin(), operations.end(), operation.start_ns,
        [&](std::int64_t time_ns, std::uint32_t index) { return time_ns < graph.operations[index].end_ns; });
    while (after != operations.begin()) {
      const Operation& candidate = graph.operations[*--after];
      if (candidate.end_ns < operation.start_ns - kMadeRoomNs) return kNone;
      if (candidate.stream != operation.stream) return *after;
    }
    return kNone;
  }

 private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_device_;
};

// Draws the edges into one operation.
void settle(Draft& draft, std::uint32_t index, std::span<const Constraint> constraints, const Ends& ends) {
  Graph& graph = draft.graph;
  const std::uint32_t point = graph.operation_start(index);
  const std::int64_t start_ns = graph.measured_ns[point];
  const Constraint* decisive = nullptr;
  std::int64_t expected_ns = 0;
  for (const Constraint& constraint : constraints) {
    if (slack_of(draft, constraint) < -kClockSlackNs) continue;
    const std::int64_t ready_ns = graph.measured_ns[constraint.from] + typical_lag(draft, constraint);
    if (decisive != nullptr && ready_ns <= expected_ns) continue;
    decisive = &constraint;
    expected_ns = ready_ns;
  }
  if (decisive == nullptr) {
    draft.add_edge(Graph::kOriginPoint, point, start_ns, EdgeKind::kOrigin);
    graph.contradicted_count += constraints.size();
    return;
  }
  std::uint32_t room = kNone;
  if (start_ns > expected_ns + kUnexplainedNs) room = ends.made_room_for(graph, graph.operations[index]);
  if (room != kNone) {
    draft.add_edge(graph.operation_end(room), point, start_ns - draft.end_of_operation(room), EdgeKind::kResource);
  }
  for (const Constraint& constraint : constraints) {
    const std::int64_t slack_ns = slack_of(draft, constraint);
    if (slack_ns < -kClockSlackNs) {
      ++graph.contradicted_count;
      continue;
    }
    const bool keeps_measured = &constraint == decisive && room == kNone && draft.lags == Lags::kMeasured;
    const std::int64_t typical_ns = typical_lag(draft, constraint);
    const bool is_typical = draft.lags == Lags::kTypical;
    const std::int64_t lag_ns = keeps_measured ? slack_ns : is_typical ? typical_ns : std::min(slack_ns, typical_ns);
    draft.add_edge(constraint.from, point, lag_ns, constraint.kind);
  }
}

}  // namespace

void add_device_edges(Draft& draft) {
  find_constraints(draft);
  learn_lags(draft);
  const Ends ends(draft.graph);
  std::size_t first = 0;
  for (std::uint32_t index = 0; index < draft.graph.operations.size(); ++index) {
    std::size_t last = first;
    while (last < draft.constraints.size() && draft.constraints[last].operation == index) ++last;
    settle(draft, index, std::span(draft.constraints).subspan(first, last - first), ends);
    first = last;
    draft.add_edge(draft.graph.operation_start(index), draft.graph.operation_end(index),
                   draft.graph.operations[index].end_ns - draft.graph.operations[index].start_ns, EdgeKind::kOperation);
  }
}

}  // namespace turnpike::analyze
