// The native frames between a hooked call and Python: which operator it is, and whether an exception may leave through
// them.
#pragma once

#include <string>

#include "guard/frame_role.h"

namespace turnpike::guard {

struct NativeFrames {
  std::string op;          // the outermost of PyTorch's operators that led here without Python in between: "aten::item"
  bool may_leave = false;  // every frame lets an exception pass, up to one that catches it
};

// Follows PyTorch's frames from the one that calls CUDA outwards.
class FrameWalk {
 public:
  // `is_copy`: the call copies.
  explicit FrameWalk(bool is_copy) noexcept : is_copy_(is_copy) {}
  // False: the frame is the last one to look at. Throws std::bad_alloc.
  bool pass(const FrameFunction& frame);
  const NativeFrames& found() const noexcept { return found_; }

 private:
  bool is_copy_;
  bool is_direct_ = true;  // only kWait frames so far
  bool is_known_ = false;  // the function that calls CUDA expects an error there
  bool may_pass_ = true;   // no frame so far forbids it
  FrameRole last_ = FrameRole::kOurs;
  NativeFrames found_;
};

// Of the calling thread, from the caller of this library on, up to the first frame that is not PyTorch's. `is_copy`:
// the call copies. Some 10 us, more the first time a frame is seen. Throws std::bad_alloc.
NativeFrames look_at_native_frames(bool is_copy);

}  // namespace turnpike::guard
