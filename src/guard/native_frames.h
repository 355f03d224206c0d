// The native frames between a hooked call and Python: which operator it is, and whether an exception may leave through
// them.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike::guard {

// What becomes of a std::runtime_error that leaves the hooked function.
enum class Leaving : std::uint8_t {
  kCaught,      // somebody catches it
  kTerminates,  // a destructor or another noexcept function would end the program first
  kUncaught,    // nobody catches it, or the frames cannot be read that far
};

struct NativeFrames {
  std::string op;  // the outermost operator below the line: "aten::item"; empty: none
  Leaving leaving = Leaving::kUncaught;
};

// Of the calling thread, without those of this library, up to the C frame of the Python evaluator at the address
// `evaluator` (0: all). Some 10 us, more the first time a frame is seen. Throws std::bad_alloc.
NativeFrames look_at_native_frames(std::uintptr_t evaluator);

}  // namespace turnpike::guard
