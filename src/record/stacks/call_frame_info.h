// How to get from a frame of native code to its caller: the rule that a module's .eh_frame gives for an address.
#pragma once

#include <cstdint>

#include "record/stacks/loaded_module.h"

namespace turnpike::record {

enum class CfaKind : std::uint8_t {
  kNone = 0,       // no rule, or one of a form that is not understood: the walk ends here
  kEndOfStack,     // the outermost frame: it says that it has no caller
  kFromRsp,        // cfa = rsp + cfa_offset
  kFromRbp,        // cfa = rbp + cfa_offset
  kStoredNearRbp,  // cfa = *(rbp + cfa_offset): functions that realign their stack
};

enum class RbpKind : std::uint8_t {
  kUnchanged = 0,
  kAtCfa,    // the caller's rbp stands at cfa + rbp_words * 8
  kNearRbp,  // ... at rbp + rbp_words * 8, of this frame's own rbp
  kUnknown,  // lost: a caller that needs it cannot be walked
};

// One 64-bit word, so that a cache can hold it without a lock. The return address always stands at cfa - 8: a rule
// that says otherwise is kNone. rsp and rbp are what compilers name a frame by on x86-64; rules on other registers are
// kNone.
struct UnwindRule {
  std::int32_t cfa_offset;
  std::int16_t rbp_words;  // where the caller's rbp stands, in words
  CfaKind cfa_kind;
  RbpKind rbp_kind : 7;
  bool is_dropped : 1;  // of a module whose frames say nothing to the user
};
static_assert(sizeof(UnwindRule) == 8);

// The rule for the instruction at `address`, which is in `module`. Reads the module's own tables in memory, and nothing
// outside of its segments.
UnwindRule read_unwind_rule(const LoadedModule& module, std::uintptr_t address) noexcept;

}  // namespace turnpike::record
