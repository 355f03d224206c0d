// The native frames between a hooked call and Python: which operator it is, and whether an exception may leave through
// them.
#pragma once

#include <string>

namespace turnpike::guard {

struct NativeFrames {
  std::string op;          // the outermost of PyTorch's operators that led here without Python in between: "aten::item"
  bool may_leave = false;  // every frame lets an exception pass, up to one that catches it
};

// Of the calling thread, from the caller of this library on, up to the first frame that is not PyTorch's. `is_copy`:
// the call copies. Some 10 us, more the first time a frame is seen. Throws std::bad_alloc.
NativeFrames look_at_native_frames(bool is_copy);

}  // namespace turnpike::guard
