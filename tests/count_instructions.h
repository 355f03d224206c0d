// Counts the instructions that the calling thread executes, by the processor's trap flag: exact, without hardware
// counters and without permissions, and the same under load. Each costs about a microsecond. Only on x86-64.
#pragma once

#include <csignal>
#include <cstdint>

namespace turnpike {

inline volatile std::uint64_t g_counted_instructions = 0;
inline constexpr unsigned long kTrapFlag = 1ul << 8;

using OnInstruction = void(int, siginfo_t*, void* context);

inline void count_instruction(int, siginfo_t*, void*) {
  g_counted_instructions = g_counted_instructions + 1;
}

// The instructions from here to the end of counting, with some of these two functions: count nothing, too, and
// subtract. `handler` may look at each instead.
inline void begin_counting(OnInstruction* handler = count_instruction) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  g_counted_instructions = 0;
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | kTrapFlag);
}

inline std::uint64_t end_counting() {
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~kTrapFlag);
  return g_counted_instructions;
}

}  // namespace turnpike
