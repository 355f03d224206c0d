// The native frames of the calling thread: walked by the modules' unwind tables, with a cache of their rules.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "record/stacks/call_frame_info.h"
#include "record/stacks/word_cache.h"

namespace turnpike::record {

inline constexpr std::uint32_t kMaxNativeFrames = 64;

// Whether the walker knows this processor. Elsewhere a walk finds nothing.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kWalksNativeFrames = true;
#else
inline constexpr bool kWalksNativeFrames = false;
#endif

// Not initialised as a whole: it lives on users' stacks, in a path where every nanosecond is theirs.
struct NativeStack {
  std::array<std::uintptr_t, kMaxNativeFrames> return_addresses;  // innermost first
  std::uint32_t count;
  bool is_truncated;   // there were more, or one that could not be walked
  std::uint64_t hash;  // over the addresses, and over what they mean (see UnwindTable::generation)
};

// Whose frames a walk leaves out.
enum class Omit : std::uint8_t {
  kNothing,
  kOwnAndDriver,  // those of the module that this code is in, of libcupti and of libcuda: they say nothing to the user
};

// Any thread, without a lock for addresses seen before; the first time, the loader's lock is taken.
//
// A library may be unloaded and another loaded in its place, so that a cached rule is another function's. The loader
// counts unloads, but behind its lock; so the count is read whenever an address is new, and at every 64th walk of a
// thread. Until then a stale rule can make a wrong stack, never a fault: all that is read is bounded by the thread's
// stack.
class UnwindTable {
 public:
  explicit UnwindTable(Omit omit) noexcept;

  // The frames of the thread's callers, from the caller of this function on, up to and without the frame that holds
  // the address `evaluator` (0: none).
  void walk(std::uintptr_t evaluator, NativeStack& stack) noexcept;

  // Grows when a module was unloaded: addresses may mean something else since.
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

 private:
  struct Cursor;
  void walk_from(Cursor& cursor, std::uintptr_t evaluator, NativeStack& stack) noexcept;
  UnwindRule rule_of(std::uintptr_t return_address) noexcept;
  UnwindRule look_up(std::uintptr_t return_address) noexcept;
  void notice_unloads() noexcept;

  WordCache rules_;
  std::atomic<std::uint64_t> generation_{0};
  Omit omit_;
};

}  // namespace turnpike::record
