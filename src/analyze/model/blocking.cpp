// The rules of blocking, and the pairing of copies with the synchronisations behind them.
#include "analyze/model/blocking.h"

#include <unordered_map>
#include <utility>

namespace turnpike::analyze {
namespace {

// What CUDA documents about a copy and the host.
enum class Hold { kNever, kAlways, kByTimes };

Hold hold_by_page_locked(const Transfer& transfer) {
  return transfer.is_async ? Hold::kNever : Hold::kByTimes;
}

Hold hold_by_upload(const Transfer& transfer) {
  if (transfer.src_kind == trace::MemoryKind::kPinned) return hold_by_page_locked(transfer);
  if (transfer.src_kind != trace::MemoryKind::kPageable) return Hold::kByTimes;
  if (transfer.bytes > kStagedAboveBytes) return Hold::kAlways;
  return transfer.is_async ? Hold::kNever : Hold::kByTimes;
}

Hold hold_by_memset(const Transfer& transfer) {
  const bool is_of_host = transfer.dst_kind == trace::MemoryKind::kPinned ||
                          transfer.dst_kind == trace::MemoryKind::kManaged ||
                          transfer.dst_kind == trace::MemoryKind::kManagedStatic;
  return is_of_host ? Hold::kByTimes : Hold::kNever;
}

Hold hold_of(const Transfer& transfer) {
  switch (transfer.direction) {
    case Direction::kMemset:
      return hold_by_memset(transfer);
    case Direction::kDeviceToDevice:
    case Direction::kPeerToPeer:
      return Hold::kNever;
    case Direction::kHostToDevice:
      return hold_by_upload(transfer);
    case Direction::kDeviceToHost:
      return transfer.dst_kind == trace::MemoryKind::kPinned ? hold_by_page_locked(transfer) : Hold::kByTimes;
    case Direction::kHostToHost:
      return Hold::kByTimes;
  }
  return Hold::kByTimes;
}

bool are_of_one_operator(const StackFacts& copy, const StackFacts& synchronisation) {
  return copy.place.op && copy.place.op == synchronisation.place.op &&
         copy.python_frames == synchronisation.python_frames;
}

}  // namespace

std::optional<bool> is_held_by_copy(const Call& call, std::span<const Transfer* const> transfers) {
  if (!call.has_times()) return std::nullopt;
  if (call.kind != trace::CallKind::kCopy && call.kind != trace::CallKind::kMemset) return false;
  bool has_timed = false;
  bool is_known = true;
  bool are_over = true;
  for (const Transfer* transfer : transfers) {
    const Hold hold = hold_of(*transfer);
    if (hold == Hold::kAlways) return true;
    if (hold == Hold::kNever) continue;
    has_timed = true;
    if (!transfer->has_times()) {
      is_known = false;
    } else if (call.end_ns < transfer->end_ns - kClockToleranceNs) {
      are_over = false;
    }
  }
  if (!has_timed || !are_over) return false;
  return is_known ? std::optional(true) : std::nullopt;
}

std::vector<std::uint32_t> pair_synchronisations(const Timeline& timeline, Stacks& stacks) {
  std::vector<std::uint32_t> paired(timeline.calls.size(), kNone);
  std::unordered_map<std::uint32_t, std::uint32_t> last_of_thread;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    if (call.kind == trace::CallKind::kEventRecord || call.kind == trace::CallKind::kStreamWait) continue;
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
