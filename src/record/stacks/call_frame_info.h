// How to get from a frame of native code to its caller: the rule that a module's .eh_frame gives for an address.
#pragma once

#include <cstdint>

#include "record/stacks/loaded_module.h"

namespace turnpike::record {

// The registers that frames are named by: rsp and rbp on x86-64, sp and x29 on aarch64.
enum class CfaKind : std::uint8_t {
  kNone = 0,      // no rule, or one of a form that is not understood: the walk ends here
  kEndOfStack,    // the outermost frame: it says that it has no caller
  kFromSp,        // cfa = stack pointer + cfa_words * 8
  kFromFp,        // cfa = frame pointer + cfa_words * 8
  kStoredNearFp,  // cfa = *(frame pointer + cfa_words * 8): functions that realign their stack
};

enum class FpKind : std::uint8_t {
  kUnchanged = 0,
  kAtCfa,    // the caller's frame pointer stands at cfa + fp_words * 8
  kNearFp,   // ... at fp_words * 8 from this frame's own
  kUnknown,  // lost: a caller that needs it cannot be walked
};

// One 64-bit word, so that a cache can hold it without a lock. Rules on other registers are kNone, and so are frames
// that have not stored their return address.
struct UnwindRule {
  static constexpr int kCfaBits = 26;

  std::int16_t fp_words;
  std::int16_t return_words;  // the return address stands at cfa + return_words * 8
  std::uint32_t cfa_bits : kCfaBits;
  CfaKind cfa_kind : 3;
  FpKind fp_kind : 2;
  bool is_dropped : 1;  // of a module whose frames say nothing to the user

  // With its sign.
  std::int64_t cfa_words() const { return static_cast<std::int32_t>(cfa_bits << (32 - kCfaBits)) >> (32 - kCfaBits); }
};
static_assert(sizeof(UnwindRule) == 8);

// The rule for the instruction at `address`, which is in `module`. Reads the module's own tables in memory, and nothing
// outside of its segments.
UnwindRule read_unwind_rule(const LoadedModule& module, std::uintptr_t address) noexcept;

}  // namespace turnpike::record
