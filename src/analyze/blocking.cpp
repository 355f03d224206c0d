// The two rules of blocking, and the pairing of copies with the synchronisations behind them.
#include "analyze/blocking.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace turnpike::analyze {
namespace {

bool is_staged(const Transfer& transfer) {
  return transfer.direction != Direction::kMemset && transfer.bytes > kStagedAboveBytes &&
         (transfer.src_kind == trace::MemoryKind::kPageable || transfer.dst_kind == trace::MemoryKind::kPageable);
}

bool are_of_one_operator(const StackFacts& copy, const StackFacts& synchronisation) {
  return copy.place.op && copy.place.op == synchronisation.place.op &&
         copy.python_frames == synchronisation.python_frames;
}

}  // namespace

std::optional<bool> is_held_by_copy(const Call& call, std::span<const Transfer* const> transfers) {
  if (!call.has_times()) return std::nullopt;
  if (call.kind != trace::CallKind::kCopy && call.kind != trace::CallKind::kMemset) return false;
  if (std::any_of(transfers.begin(), transfers.end(), [](const Transfer* t) { return is_staged(*t); })) return true;
  if (!std::all_of(transfers.begin(), transfers.end(), [](const Transfer* t) { return t->has_times(); })) {
    return std::nullopt;
  }
  return std::all_of(transfers.begin(), transfers.end(),
                     [&](const Transfer* t) { return call.end_ns >= t->end_ns - kClockToleranceNs; });
}

std::vector<std::uint32_t> pair_synchronisations(const Timeline& timeline, Stacks& stacks) {
  std::vector<std::uint32_t> paired(timeline.calls.size(), kNone);
  std::unordered_map<std::uint32_t, std::uint32_t> last_of_thread;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    auto [entry, is_first] = last_of_thread.try_emplace(call.thread, index);
    const std::uint32_t before = std::exchange(entry->second, index);
    if (is_first || call.kind != trace::CallKind::kSynchronize) continue;
    const Call& copy = timeline.calls[before];
    if (copy.kind != trace::CallKind::kCopy || !copy.has_times() || call.start_ns < copy.end_ns) continue;
    if (are_of_one_operator(stacks.facts(stacks.of_call(copy)), stacks.facts(stacks.of_call(call)))) {
      paired[before] = index;
    }
  }
  return paired;
}

}  // namespace turnpike::analyze
