// Sorts threads by their calls and by their names.
#include "analyze/model/threads.h"

#include <unordered_map>

namespace turnpike::analyze {

bool is_launch(const Call& call) {
  return call.kind == trace::CallKind::kLaunch || call.kind == trace::CallKind::kGraphLaunch;
}

Threads host_threads_of(const Timeline& timeline) {
  Threads launching;
  Threads all;
  for (const Call& call : timeline.calls) {
    all.insert(call.thread);
    if (is_launch(call)) launching.insert(call.thread);
  }
  return launching.empty() ? all : launching;
}

Threads threads_named_for_autograd(const trace::Process& process, const Timeline& timeline) {
  Threads threads;
  for (const auto& [thread, name] : timeline.thread_names) {
    if (process.string(name).starts_with("pt_autograd")) threads.insert(thread);
  }
  return threads;
}

Threads threads_busy_with_backward(const Timeline& timeline, std::span<const std::uint32_t> calls) {
  std::unordered_map<std::uint32_t, std::int64_t> more_backward;
  for (const std::uint32_t index : calls) {
    const Call& call = timeline.calls[index];
    if (call.autograd_role == trace::AutogradRole::kBackward) ++more_backward[call.thread];
    if (call.autograd_role == trace::AutogradRole::kForward) --more_backward[call.thread];
  }
  Threads threads;
  for (const auto& [thread, count] : more_backward) {
    if (count > 0) threads.insert(thread);
  }
  return threads;
}

}  // namespace turnpike::analyze
