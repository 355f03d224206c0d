#include "guard/native_frames.h"

#include <unwind.h>

#include "guard/frame_role.h"

namespace turnpike::guard {
namespace {

constexpr int kMaxFrames = 128;

// Follows PyTorch's frames from our caller outwards.
struct Walk {
  bool is_copy;
  NativeFrames found;
  int count = 0;
  bool is_direct = true;  // only kWait frames so far
  bool is_known = false;  // the function that calls CUDA expects an error there
  bool may_pass = true;   // no frame so far forbids it
  FrameRole last = FrameRole::kOwn;
};

// False: the frame is the last one to look at.
bool pass(Walk& walk, FrameRole role) {
  switch (role) {
    case FrameRole::kSafeOperator:
      walk.is_known = true;
      break;
    case FrameRole::kBinding:
      // Bindings that wait by themselves (streams, events) do nothing else, and no destructor among them waits.
      walk.is_known = walk.is_known || walk.is_direct;
      [[fallthrough]];
    case FrameRole::kOtherOperator:
      walk.may_pass = walk.may_pass && walk.is_known;
      break;
    case FrameRole::kWait:
      walk.may_pass = walk.may_pass && walk.is_direct;
      break;
    case FrameRole::kAllocator:
      // CUDACachingAllocator::memcpyAsync() copies between GPUs for copy_(), without a lock and without a table.
      walk.may_pass = walk.may_pass && walk.is_copy && walk.count == 1;
      break;
    case FrameRole::kPython:
      walk.found.may_leave = walk.may_pass && walk.is_known && walk.last == FrameRole::kBinding;
      return false;
    case FrameRole::kEngine:
      walk.found.may_leave = walk.may_pass && walk.is_known;
      return false;
    case FrameRole::kOther:
      return false;
    case FrameRole::kTorch:
    case FrameRole::kOwn:
      break;
  }
  walk.is_direct = walk.is_direct && role == FrameRole::kWait;
  walk.last = role;
  return true;
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const auto start = static_cast<std::uintptr_t>(_Unwind_GetRegionStart(context));
  const FrameFunction& function = frame_function(reinterpret_cast<void*>(start));
  if (walk.count == 0 && function.role == FrameRole::kOwn) return _URC_NO_REASON;
  if (++walk.count > kMaxFrames || !pass(walk, function.role)) return _URC_END_OF_STACK;
  if (!function.op.empty()) walk.found.op = function.op;
  return _URC_NO_REASON;
}

}  // namespace

NativeFrames look_at_native_frames(bool is_copy) {
  Walk walk{.is_copy = is_copy, .found = {}};
  _Unwind_Backtrace(visit, &walk);
  return walk.found;
}

}  // namespace turnpike::guard
