// A checkpoint holds the steps in which it is saved: its tensors come down one by one, and the CPU waits for each.
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

std::string evidence_of(const ProcessModel& model, const CopyCount& copies, std::size_t steps) {
  const auto each = static_cast<double>(steps);
  return "in " + std::to_string(steps) + " of " + std::to_string(model.step_count()) + " steps; " +
         std::to_string(copies.count / steps) + " downloads (" + bytes_text(static_cast<double>(copies.bytes) / each) +
         ") each time, for which the CPU stood still for " + time_text(static_cast<double>(copies.host_ns) / each) +
         "; a step takes " + time_text(static_cast<double>(model.steps()->steps.median_ns)) + " (median)";
}

}  // namespace

void find_checkpoint_blocks_step(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    if (download_fault(model, site) != CopyFault::kSavedState) continue;
    const CopyCount& copies = count_copies(site, Direction::kDeviceToHost);
    if (!matters(model, copies.host_ns)) continue;
    const Selection& calls = copies_of(site, Direction::kDeviceToHost);
    // Without the link's rate the gain is that of not waiting; the copies would also be faster.
    const bool can_pin = copies.pageable_count > 0 && is_link_known(model, calls, Direction::kDeviceToHost);
    found.push_back({.where = site.facts->place,
                     .title = "the steps that save a checkpoint wait for its tensors, one after another",
                     .evidence = evidence_of(model, copies, steps_of(model, calls).size()),
                     .advice = site.facts->place.op
                                   ? "Start all downloads at once and go on: pending = tp.fetch(x) for each tensor of "
                                     "the state. A thread then calls pending.result() and writes the file. The GPU "
                                     "needs room for a second copy of the state until then."
                                   : "Start all downloads at once, with cudaMemcpyAsync into page-locked memory. A "
                                     "thread then waits for an event behind them and writes the file. Do not change "
                                     "the state before that event.",
                     .changes = {{can_pin ? Change::kPin : Change::kDeferSync, calls}}});
  }
}

}  // namespace turnpike::analyze
