// Tells the faults of copies apart.
#include "analyze/rules/copy_fault.h"

#include <map>

#include "analyze/graph/neighbours.h"
#include "base/operator_name.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// Below this the driver takes the bytes along with the command, and pinning gains nothing.
constexpr std::uint64_t kStagedBytes = 64u << 10;
bool is_many_small(const ProcessModel& model, const CopyCount& copies) {
  return copies.bytes / copies.count < kSmallCopyBytes &&
         static_cast<double>(copies.count) >= kManyPerStep * static_cast<double>(model.step_count());
}

// Whether most of the uploads may be made of what the GPU has just answered, as an actor's next observation: then they
// are no parts of one batch.
bool are_answers(const SiteCalls& site, const CopyCount& copies) {
  return 2 * site.uploads_after_results > copies.count;
}

// A checkpoint is saved now and then: of what comes down in more of the steps, each step wants something.
constexpr std::size_t kStepsToOneThatSaves = 4;

bool is_saved_state(const ProcessModel& model, const SiteCalls& site, const CopyCount& copies) {
  if (!model.steps() || copies.host_ns == 0) return false;
  const std::size_t steps = steps_of(model, copies_of(site, Direction::kDeviceToHost)).size();
  return kStepsToOneThatSaves * steps <= model.step_count() &&
         static_cast<double>(copies.count) >= kManyPerStep * static_cast<double>(steps);
}

// A call of aten::copy_. What autograd hands on within one call is no other.
bool is_copying(const trace::Frame& frame) {
  if (frame.kind == trace::FrameKind::kOperator) return frame.function == "aten::copy_";
  return operator_structure(frame.function) == "copy_" && frame.function.find("4callE") != std::string::npos;
}

bool are_rearranged_on_host(const ProcessModel& model, const Selection& calls) {
  std::map<std::uint32_t, bool> of_stack;
  std::size_t count = 0;
  for (const std::uint32_t call : calls) {
    const auto [known, is_new] = of_stack.try_emplace(model.call(call).stack, false);
    if (is_new) known->second = is_rearranged_on_host(model, call);
    if (known->second) ++count;
  }
  return 2 * count > calls.size();
}

}  // namespace

CopyFault upload_fault(const ProcessModel& model, const SiteCalls& site) {
  const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
  if (copies.count == 0) return CopyFault::kNothing;
  const bool is_staged = 2 * copies.pageable_count > copies.count && copies.bytes / copies.count > kStagedBytes;
  if (is_staged && are_rearranged_on_host(model, copies_of(site, Direction::kHostToDevice))) {
    return CopyFault::kRearranged;
  }
  const bool is_heap = is_many_small(model, copies) && !are_answers(site, copies);
  if (site.is_up_grouped || is_heap) return CopyFault::kManySmall;
  if (is_staged) return CopyFault::kPageable;
  return copies.host_ns > 0 ? CopyFault::kHeld : CopyFault::kQueued;
}

CopyFault download_fault(const ProcessModel& model, const SiteCalls& site) {
  const CopyCount& copies = count_copies(site, Direction::kDeviceToHost);
  if (copies.count == 0) return CopyFault::kNothing;
  const bool is_value = copies.bytes / copies.count <= kValueBytes;
  if (is_value) return copies.host_ns > 0 ? CopyFault::kValue : CopyFault::kNothing;
  if (is_saved_state(model, site, copies)) return CopyFault::kSavedState;
  if (site.is_down_grouped || is_many_small(model, copies)) return CopyFault::kManySmall;
  return copies.host_ns > 0 ? CopyFault::kHeld : CopyFault::kQueued;
}

bool is_rearranged_on_host(const ProcessModel& model, std::uint32_t call) {
  int copying = 0;
  for (const trace::Frame* frame : trace::frames_of(model.process(), model.call(call).stack)) {
    if (frame->kind == trace::FrameKind::kPython) break;
    if (is_copying(*frame)) ++copying;
  }
  return copying > 1;
}

}  // namespace turnpike::analyze
