// Memory is page-locked ("pinned") in each step, which takes longer than the copy that it speeds up.
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// What is locked, and what that took besides.
struct Locked {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  bool has_sizes = true;
};

Locked count_locked(const ProcessModel& model, const SiteCalls& site) {
  Locked locked;
  for (const std::uint32_t index : calls_of(site, model, {CallKind::kHostAlloc, CallKind::kHostRegister})) {
    const Call& call = model.call(index);
    ++locked.count;
    if (call.bytes == trace::kUnknownSize) {
      locked.has_sizes = false;
    } else {
      locked.bytes += call.bytes;
    }
  }
  return locked;
}

// pin_memory() makes a page-locked tensor and copies the first one into it.
bool is_copied_into(const SiteCalls& site) {
  const auto& op = site.facts->place.op;
  return op && op->find("pin_memory") != op->npos;
}

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, const Selection& calls) {
  const Locked locked = count_locked(model, site);
  if (locked.count == 0) {
    return "memory is unlocked " + times_a_step(model, calls.size()) + ", which takes " +
           time_a_step(model, duration_ns(model, calls));
  }
  const std::string each =
      locked.has_sizes
          ? ", " + bytes_text(static_cast<double>(locked.bytes) / static_cast<double>(locked.count)) + " each"
          : "";
  std::string text =
      times_a_step(model, locked.count) + each + "; the calls took " + time_a_step(model, duration_ns(model, calls));
  if (is_copied_into(site) && locked.has_sizes) {
    text += ", and pin_memory() then copies these bytes on the CPU, before the GPU copies them again";
  }
  return text;
}

}  // namespace

void find_pinning_in_loop(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    const Selection calls = calls_of(
        site, model, {CallKind::kHostAlloc, CallKind::kHostRegister, CallKind::kHostUnregister, CallKind::kHostFree});
    if (calls.empty() || !is_regular(model, calls)) continue;
    found.push_back(
        {.where = site.facts->place,
         .title = std::string("page-locks (pins) memory ") + each_step_text(model),
         .evidence = evidence_of(model, site, calls),
         .advice = "Pin a few buffers before the loop: buffer.copy_(batch), buffer.to(device, non_blocking=True). "
                   "Fill them in turn: one may be filled again when its copy is done: "
                   "event.record() behind the copy, event.synchronize() before. "
                   "DataLoader(pin_memory=True) does it in a thread of its own.",
         .changes = {{Change::kRemoveAllocation, calls}}});
  }
}

}  // namespace turnpike::analyze
