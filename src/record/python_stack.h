// The Python frames of the calling thread: walked without the GIL, named only when asked.
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

// The calling thread's frames; count is 0 when it has none or this process has no Python that is understood.
//
// Why this is safe without the GIL: the calling thread is inside C code, so nobody moves its chain of frames, and its
// frames hold references to their code objects and those to their strings. The exception is an interpreter that ends:
// it frees the frames of threads that still run (daemons, as a DataLoader's pinning thread). So a thread that is not
// the main one and does not hold the GIL reads its frames through the kernel, which cannot fault, and believes them
// only when the interpreter was not ending afterwards. That costs such threads one system call a page of frames.
void walk_python_stack(PythonStack& stack) noexcept;

struct PythonFrameText {
  std::string function;
  std::string file;
  std::uint32_t line;        // 0: unknown
  std::uint32_t first_line;  // 0: unknown
};

// The names of a frame just walked, in UTF-8. Throws std::bad_alloc.
void describe(const PythonFrame& frame, PythonFrameText& text);

}  // namespace turnpike::record
