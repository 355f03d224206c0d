// Looks at what lies between two calls.
#include "analyze/graph/neighbours.h"

#include <algorithm>

namespace turnpike::analyze {

bool is_small_copy(const ProcessModel& model, std::uint32_t call, Direction direction) {
  const auto& operations = model.operations_of(call);
  std::uint64_t bytes = 0;
  for (const std::uint32_t operation : operations) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer == nullptr || transfer->direction != direction || transfer->graph_node != 0) return false;
    bytes += transfer->bytes;
  }
  return !operations.empty() && bytes < kSmallCopyBytes;
}

bool follows_directly(const ProcessModel& model, std::uint32_t a, std::uint32_t b) {
  if (model.step_of(a) != model.step_of(b)) return false;
  const std::uint32_t thread = model.call(a).thread;
  if (model.call(b).thread != thread) return false;
  const Place& first = model.facts_of_call(a).place;
  const Place& second = model.facts_of_call(b).place;
  if (!first.file || !first.function || first.file != second.file || first.function != second.function) return false;
  for (std::uint32_t between = a + 1; between < b; ++between) {
    if (model.call(between).thread == thread && !model.operations_of(between).empty()) return false;
  }
  return true;
}

}  // namespace turnpike::analyze
