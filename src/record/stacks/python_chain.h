// A thread's chain of Python frames, and what one of them is called.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace turnpike::record {

inline constexpr std::uint32_t kMaxPythonFrames = 128;

// A frame as it stands; valid while the thread that walked stays in the call that it walked from.
struct PythonFrame {
  const char* code;               // the PyCodeObject
  std::int32_t instruction_byte;  // where in its bytecode; negative before its first instruction
};

// Not initialised as a whole: it lives on users' stacks, in a path where every nanosecond is theirs.
struct PythonStack {
  std::array<PythonFrame, kMaxPythonFrames> frames;  // innermost first
  std::uint32_t count;
  bool is_truncated;         // there were more, or one that could not be walked
  std::uintptr_t evaluator;  // an address in the C frame of the innermost evaluator on this thread; 0: unknown
  std::uint64_t hash;        // over everything that decides what the frames will be called
};

struct PythonFrameText {
  std::string function;
  std::string file;
  std::uint32_t line;        // 0: unknown
  std::uint32_t first_line;  // 0: unknown
};

}  // namespace turnpike::record
