// The Python frames of the calling thread: walked without the GIL, named only when asked.
#include "record/stacks/python_stack.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/hot.h"
#include "record/stacks/python_frames.h"

namespace turnpike::record {
namespace {

// Asked first whether Python is ending: from then on it says of every thread that it holds the GIL, while the frames of
// daemon threads are being freed.
bool has_gil(const PythonRuntime& python) noexcept {
  return !is_ending(python) && python.holds_gil() != 0;
}

void walk_carefully(const PythonRuntime& python, Pointer thread, PythonStack& stack) noexcept {
  CarefulReader reader;
  walk_frames(*python.layout, reader, thread, stack);
  if (!is_ending(python) && !reader.has_failed()) return;
  stack.count = 0;
  stack.evaluator = 0;
  stack.is_truncated = true;
}

}  // namespace

TURNPIKE_HOT bool is_main_thread() noexcept {
  // Asked of the kernel once a thread. 0: not asked yet.
  TURNPIKE_HOT_THREAD_DATA thread_local int t_answer;
  if (t_answer == 0) t_answer = syscall(SYS_gettid) == getpid() ? 1 : 2;
  return t_answer == 1;
}

TURNPIKE_HOT void walk_python_stack(PythonStack& stack, bool python_stays) noexcept {
  stack.count = 0;
  stack.is_truncated = false;
  stack.evaluator = 0;
  stack.hash = kHashSeed;
  const PythonRuntime* python = known_python();
  if (python == nullptr) return;
  const auto thread = static_cast<Pointer>(python->this_thread_state());
  if (thread == nullptr) return;
  // Where the kernel forbids it to read oneself, frames are read directly: the sandbox is likelier than the end.
  if (python_stays || is_main_thread() || has_gil(*python) || !can_read_own_memory()) {
    DirectReader direct;
    walk_frames(*python->layout, direct, thread, stack);
  } else {
    walk_carefully(*python, thread, stack);
  }
  DirectReader reader;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const PythonFrame frame = stack.frames[i];
    if (!has_type(reader, frame.code, python->code_type)) {
      stack.is_truncated = true;
      break;
    }
    if (is_made_by_python(*python->layout, reader, frame.code)) continue;
    stack.frames[kept++] = frame;
    stack.hash = hash_frame(*python, reader, stack.hash, frame);
  }
  stack.count = kept;
}

void describe(const PythonFrame& frame, PythonFrameText& text) {
  DirectReader reader;
  describe_frame(*known_python(), reader, frame, text);
}

}  // namespace turnpike::record
