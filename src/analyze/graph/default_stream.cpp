// The waits of the legacy default stream: its work waits for all earlier work of a device's blocking streams, and
// theirs for its own. Nothing in a recording says which streams were created as non-blocking, as PyTorch's are, so the
// times must tell.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/graph/draft.h"

namespace turnpike::analyze {
namespace {

// CUPTI's number of the default stream in the first context of a process.
constexpr std::uint32_t kUsualDefaultStream = 7;

struct Pair {
  std::uint32_t first;  // issued before
  std::uint32_t second;
};

// Of each stream beside the default one of its device: what would have to wait for what, in the order of issue.
using PairsOfStream = std::map<StreamKey, std::vector<Pair>>;

class Pairs {
 public:
  explicit Pairs(const Draft& draft) : draft_(draft), defaults_(draft.timeline.default_streams) {
    for (const Operation& operation : draft.graph.operations) {
      const StreamKey usual{operation.device, kUsualDefaultStream};
      const auto of_device = defaults_.lower_bound({operation.device, 0});
      const bool is_known = of_device != defaults_.end() && of_device->first == operation.device;
      if (!is_known && operation.stream == kUsualDefaultStream) defaults_.insert(usual);
    }
  }

  PairsOfStream find() {
    for (std::uint32_t call = 0; call < draft_.graph.calls.size(); ++call) {
      for (const std::uint32_t operation : draft_.operations_of_call[call]) issue(operation);
    }
    return std::move(pairs_);
  }

 private:
  void issue(std::uint32_t index) {
    const Operation& operation = draft_.graph.operations[index];
    const StreamKey own{operation.device, operation.stream};
    for (const auto& [stream, last] : last_of_stream_) {
      if (stream.first != own.first || stream == own) continue;
      if (defaults_.contains(own) == defaults_.contains(stream)) continue;
      const StreamKey& other = defaults_.contains(own) ? stream : own;
      pairs_[other].push_back({last, index});
    }
    last_of_stream_[own] = index;
  }

  const Draft& draft_;
  std::set<StreamKey> defaults_;
  std::map<StreamKey, std::uint32_t> last_of_stream_;
  PairsOfStream pairs_;
};

bool is_transfer(const Draft& draft, std::uint32_t operation) {
  return draft.graph.operations[operation].transfer != kNone;
}

// By operation: when everything else that it had to wait for was there.
std::vector<std::int64_t> ready_times(const Draft& draft) {
  std::vector<std::int64_t> ready_ns(draft.graph.operations.size(), 0);
  for (const Constraint& constraint : draft.constraints) {
    std::int64_t& ready = ready_ns[constraint.operation];
    ready = std::max(ready, draft.graph.measured_ns[constraint.from]);
  }
  return ready_ns;
}

// Whether a stream waited where nothing else made it wait, and never failed to. That two kernels did not run beside
// each other shows nothing: the first may have filled the device.
bool is_blocking(const Draft& draft, const std::vector<Pair>& pairs, const std::vector<std::int64_t>& ready_ns) {
  bool was_held = false;
  for (const auto& [first, second] : pairs) {
    const std::int64_t end_ns = draft.end_of_operation(first);
    const std::int64_t start_ns = draft.graph.measured_ns[draft.graph.operation_start(second)];
    if (start_ns < end_ns - kClockSlackNs) return false;
    const bool could_run = is_transfer(draft, first) || is_transfer(draft, second);
    was_held = was_held || (could_run && ready_ns[second] + kHeldNs < end_ns && start_ns < end_ns + kHeldNs);
  }
  return was_held;
}

}  // namespace

void add_default_stream_constraints(Draft& draft) {
  const PairsOfStream pairs_of_stream = Pairs(draft).find();
  if (pairs_of_stream.empty()) return;
  const std::vector<std::int64_t> ready_ns = ready_times(draft);
  for (const auto& [stream, pairs] : pairs_of_stream) {
    if (!is_blocking(draft, pairs, ready_ns)) continue;
    for (const auto& [first, second] : pairs) {
      draft.constraints.push_back({second, draft.graph.operation_end(first), EdgeKind::kDefaultStream});
    }
  }
}

}  // namespace turnpike::analyze
