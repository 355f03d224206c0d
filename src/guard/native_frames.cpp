#include "guard/native_frames.h"

#include <unwind.h>

#include "guard/frame_role.h"

namespace turnpike::guard {
namespace {

constexpr int kMaxFrames = 128;

struct Walk {
  FrameWalk frames;
  int count = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const auto start = static_cast<std::uintptr_t>(_Unwind_GetRegionStart(context));
  const FrameFunction& function = frame_function(reinterpret_cast<void*>(start));
  if (walk.count == 0 && function.role == FrameRole::kOurs) return _URC_NO_REASON;
  return ++walk.count <= kMaxFrames && walk.frames.pass(function) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

bool FrameWalk::pass(const FrameFunction& frame) {
  switch (frame.role) {
    case FrameRole::kSafeOperator:
      is_known_ = true;
      break;
    case FrameRole::kBinding:
      // Bindings that wait by themselves (streams, events) do nothing else, and no destructor among them waits.
      is_known_ = is_known_ || is_direct_;
      [[fallthrough]];
    case FrameRole::kOtherOperator:
      may_pass_ = may_pass_ && is_known_;
      break;
    case FrameRole::kWait:
      may_pass_ = may_pass_ && is_direct_;
      break;
    case FrameRole::kAllocator:
      // CUDACachingAllocator::memcpyAsync() copies between GPUs for copy_(), without a lock and without a table.
      may_pass_ = may_pass_ && is_copy_ && last_ == FrameRole::kOurs;
      break;
    case FrameRole::kPython:
      found_.may_leave = may_pass_ && is_known_ && last_ == FrameRole::kBinding;
      return false;
    case FrameRole::kEngine:
      found_.may_leave = may_pass_ && is_known_;
      return false;
    case FrameRole::kOther:
      return false;
    case FrameRole::kTorch:
    case FrameRole::kOurs:
      break;
  }
  is_direct_ = is_direct_ && frame.role == FrameRole::kWait;
  last_ = frame.role;
  if (!frame.op.empty()) found_.op = frame.op;
  return true;
}

NativeFrames look_at_native_frames(bool is_copy) {
  Walk walk{FrameWalk(is_copy)};
  _Unwind_Backtrace(visit, &walk);
  return walk.frames.found();
}

}  // namespace turnpike::guard
