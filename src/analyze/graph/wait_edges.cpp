// What each call waited for, and how long its own work took.
#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/graph/draft.h"
#include "analyze/graph/held.h"
#include "analyze/graph/issue_order.h"

namespace turnpike::analyze {
namespace {

// Of each so many launches one is held to the length of the queue, which saves edges and errs by less than 4 %.
constexpr std::size_t kOfLaunchesLooked = 32;

enum class Scope { kEvent, kStream, kDevice };

Scope scope_of(std::string_view name) {
  if (name.find("Event") != std::string_view::npos) return Scope::kEvent;
  if (name.find("Stream") != std::string_view::npos) return Scope::kStream;
  return Scope::kDevice;
}

// Calls that the driver may carry out only when the device is done with all it has.
bool may_wait_for_device(trace::CallKind kind) {
  switch (kind) {
    case trace::CallKind::kDeviceAlloc:
    case trace::CallKind::kDeviceFree:
    case trace::CallKind::kHostAlloc:
    case trace::CallKind::kHostFree:
    case trace::CallKind::kHostRegister:
    case trace::CallKind::kHostUnregister:
    case trace::CallKind::kManagedAlloc:
      return true;
    default:
      return false;
  }
}

// Follows the calls in order and tells what each waited for.
class Waits {
 public:
  explicit Waits(Draft& draft) : draft_(draft) {}

  void pass(std::uint32_t index) {
    const Call& call = draft_.call(index);
    std::uint32_t awaited = kNone;
    EdgeKind kind = EdgeKind::kWait;
    if (call.kind == trace::CallKind::kSynchronize) {
      awaited = awaited_by_synchronisation(index);
    } else if (is_held(index)) {
      awaited = latest(draft_.operations_of_call[index]);
    } else if (may_wait_for_device(call.kind) && call.duration_ns() > kLongCallNs) {
      if (is_device_done(index)) awaited = ended_just_before(index, 1);
    } else if (call.duration_ns() > kLongCallNs) {
      awaited = ended_just_before(index, kLongQueue);
      kind = EdgeKind::kQueue;
    }
    awaited_.push_back({awaited, kind});
    issued_.pass(call);
    for (const std::uint32_t operation : draft_.operations_of_call[index]) issue(operation, call.thread);
    if (call.kind == trace::CallKind::kLaunch) queue(index);
  }

  // Once all calls were passed.
  void draw() {
    learn_durations();
    for (std::uint32_t index = 0; index < awaited_.size(); ++index) draw(index);
    draw_queue();
  }

 private:
  struct Awaited {
    std::uint32_t operation;
    EdgeKind kind;
  };

  // A launch that finds no room in the queue, until the operation has begun that was launched so much earlier.
  struct Queued {
    std::uint32_t call;
    std::uint32_t operation;
  };

  void issue(std::uint32_t index, std::uint32_t thread) {
    issued_.issue(draft_.graph.operations[index], index, thread);
    under_way_.push_back(index);
  }

  void queue(std::uint32_t index) {
    const auto operations = draft_.operations_of_call[index];
    if (operations.empty()) return;
    const Operation& first = draft_.graph.operations[operations.front()];
    std::vector<std::uint32_t>& launched = launched_[{first.device, first.stream}];
    launched.push_back(operations.front());
    const std::size_t count = launched.size();
    if (count > kQueueLength && count % kOfLaunchesLooked == 0) {
      queued_.push_back({index, launched[count - 1 - kQueueLength]});
    }
  }

  // None if the recording shows launches that were further ahead: then the queue is longer than we know.
  void draw_queue() {
    const auto slack_ns = [&](const Queued& one) {
      return draft_.end_of_call(one.call) - draft_.graph.measured_ns[draft_.graph.operation_start(one.operation)];
    };
    const bool is_longer =
        std::any_of(queued_.begin(), queued_.end(), [&](const Queued& one) { return slack_ns(one) < -kClockSlackNs; });
    if (is_longer) return;
    for (const Queued& one : queued_) {
      draft_.add_edge(draft_.graph.operation_start(one.operation), draft_.graph.call_end(one.call),
                      std::min(slack_ns(one), draft_.graph.typical.wait), EdgeKind::kQueue);
    }
  }

  // The one that ends last.
  std::uint32_t latest(std::span<const std::uint32_t> operations) const {
    std::uint32_t found = kNone;
    for (const std::uint32_t index : operations) {
      if (index != kNone && (found == kNone || end_of(index) > end_of(found))) found = index;
    }
    return found;
  }

  std::int64_t end_of(std::uint32_t operation) const { return draft_.end_of_operation(operation); }

  std::uint32_t awaited_by_synchronisation(std::uint32_t index) const {
    const Call& call = draft_.call(index);
    const Scope scope = scope_of(draft_.process.string(call.name));
    if (scope == Scope::kEvent && call.object != 0) {
      if (const auto awaited = issued_.of_event(call.object)) return latest(*awaited);
    }
    if (scope == Scope::kStream && call.stream != trace::kUnknownId) {
      return latest(issued_.end_of({call.device, call.stream}));
    }
    std::vector<std::uint32_t> candidates;
    issued_.for_each_end([&](const StreamKey& stream, std::uint32_t operation) {
      if (call.device != trace::kUnknownId && stream.first != call.device) return;
      // Which event or stream it was is not known: what ended after the call cannot have been it.
      const bool is_ruled_out =
          scope != Scope::kDevice && end_of(operation) > draft_.end_of_call(index) + kClockSlackNs;
      if (!is_ruled_out) candidates.push_back(operation);
    });
    return latest(candidates);
  }

  bool is_held(std::uint32_t index) const {
    return is_held_by_its_copies(draft_.timeline, draft_.graph, draft_.call(index), draft_.operations_of_call[index]);
  }

  // Of the operations under way when the call began, the one that ended last before it returned, if it did so just
  // then; kNone when fewer than `at_least` were under way.
  std::uint32_t ended_just_before(std::uint32_t index, std::size_t at_least) {
    const std::int64_t start_ns = draft_.start_of_call(index);
    const std::int64_t end_ns = draft_.end_of_call(index);
    std::erase_if(under_way_, [&](std::uint32_t operation) { return end_of(operation) <= start_ns; });
    if (under_way_.size() < at_least) return kNone;
    std::uint32_t found = kNone;
    for (const std::uint32_t operation : under_way_) {
      const std::int64_t before_ns = end_ns - end_of(operation);
      if (before_ns < -kClockSlackNs || before_ns > kReturnNs) continue;
      if (found == kNone || end_of(operation) > end_of(found)) found = operation;
    }
    return found;
  }

  // Whether nothing that was under way on the call's device ran on when the call had returned. Else it did not wait for
  // the device: among short kernels one always ends just before.
  bool is_device_done(std::uint32_t index) const {
    const std::uint32_t device = draft_.call(index).device;
    const std::int64_t latest_ns = draft_.end_of_call(index) + kClockSlackNs;
    return std::none_of(under_way_.begin(), under_way_.end(), [&](std::uint32_t operation) {
      const bool is_of_device = device == trace::kUnknownId || draft_.graph.operations[operation].device == device;
      return is_of_device && end_of(operation) > latest_ns;
    });
  }

  bool has_waited(std::uint32_t index) const {
    const std::uint32_t awaited = awaited_[index].operation;
    return awaited != kNone && end_of(awaited) > draft_.start_of_call(index);
  }

  // Whether it waited for its own copy. The call of a staged one returns when the last part is staged, shortly before
  // that part has crossed.
  bool is_own(std::uint32_t index) const { return draft_.graph.operations[awaited_[index].operation].call == index; }

  void learn_durations() {
    LagSamples launches;
    LagSamples copies;
    LagSamples synchronisations;
    LagSamples returns;
    LagSamples copy_returns;
    for (std::uint32_t index = 0; index < awaited_.size(); ++index) {
      const Call& call = draft_.call(index);
      if (has_waited(index)) {
        const std::int64_t return_ns = draft_.end_of_call(index) - end_of(awaited_[index].operation);
        if (is_own(index)) {
          draft_.learn(copy_returns, index, return_ns);
        } else if (return_ns >= 0) {
          draft_.learn(returns, index, return_ns);
        }
      } else if (call.kind == trace::CallKind::kLaunch) {
        draft_.learn(launches, index, call.duration_ns());
      } else if (call.kind == trace::CallKind::kCopy) {
        draft_.learn(copies, index, call.duration_ns());
      } else if (call.kind == trace::CallKind::kSynchronize) {
        draft_.learn(synchronisations, index, call.duration_ns());
      }
    }
    TypicalLags& typical = draft_.graph.typical;
    typical.launch_call = usual_or(launches, kUsualCallNs, draft_.lags);
    typical.copy_call = usual_or(copies, typical.launch_call, draft_.lags);
    typical.sync_call = usual_or(synchronisations, typical.launch_call, draft_.lags);
    typical.wait = usual_or(returns, kUsualWaitNs, draft_.lags);
    typical.copy_return = usual_or(copy_returns, typical.wait, draft_.lags);
  }

  std::int64_t own_work_ns(const Call& call) const {
    const TypicalLags& typical = draft_.graph.typical;
    const std::int64_t usual_ns = call.kind == trace::CallKind::kSynchronize ? typical.sync_call
                                  : call.kind == trace::CallKind::kCopy      ? typical.copy_call
                                                                             : typical.launch_call;
    return std::min(call.duration_ns(), usual_ns);
  }

  void draw(std::uint32_t index) {
    Graph& graph = draft_.graph;
    const Call& call = draft_.call(index);
    const auto [awaited, kind] = awaited_[index];
    const bool was_held = has_waited(index);
    draft_.add_edge(graph.call_start(index), graph.call_end(index), was_held ? own_work_ns(call) : call.duration_ns(),
                    EdgeKind::kCall);
    if (awaited == kNone) return;
    const std::int64_t slack_ns = draft_.end_of_call(index) - end_of(awaited);
    if (slack_ns < -kClockSlackNs && !is_own(index)) {
      ++graph.contradicted_count;
      return;
    }
    const bool is_typical = draft_.lags == Lags::kTypical;
    const std::int64_t typical_ns = is_own(index) ? graph.typical.copy_return : graph.typical.wait;
    const std::int64_t lag_ns = is_typical ? typical_ns : was_held ? slack_ns : std::min(slack_ns, typical_ns);
    draft_.add_edge(graph.operation_end(awaited), graph.call_end(index), lag_ns, kind);
  }

  Draft& draft_;
  IssueOrder issued_;
  std::vector<std::uint32_t> under_way_;
  std::vector<Awaited> awaited_;
  std::map<StreamKey, std::vector<std::uint32_t>> launched_;  // the first operation of each launch
  std::vector<Queued> queued_;
};

}  // namespace

void add_wait_edges(Draft& draft) {
  Waits waits(draft);
  for (std::uint32_t index = 0; index < draft.graph.calls.size(); ++index) waits.pass(index);
  waits.draw();
}

}  // namespace turnpike::analyze
