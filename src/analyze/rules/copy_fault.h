// What is the matter with how a place copies over the link. Each place has one such fault at most, so that no two rules
// tell it how to copy; what it copies, and whether it must, is asked by other rules.
#pragma once

#include <cstdint>

#include "analyze/rules/measure.h"

namespace turnpike::analyze {

// So many copies in a step are many: a batch with its targets and masks is no heap of small copies.
inline constexpr double kManyPerStep = 8;
// Larger downloads are results that someone wants, not a value that decides something.
inline constexpr std::uint64_t kValueBytes = 4096;

// In the order of precedence.
enum class CopyFault : std::uint8_t {
  kNothing,
  kRearranged,  // PyTorch copied the data on the host first: uploads only
  kSavedState,  // a heap at a time, in few of the steps, as a checkpoint is saved: downloads only
  kManySmall,   // one by one, where one would do
  kPageable,    // from ordinary memory, and large enough for the driver to stage it: uploads only
  kValue,       // a value that is read back: downloads only
  kHeld,        // the host stands still, though it need not
  kQueued       // asynchronous; where it runs is the question that is left
};
CopyFault upload_fault(const ProcessModel& model, const SiteCalls& site);
CopyFault download_fault(const ProcessModel& model, const SiteCalls& site);

// Whether PyTorch copied the data of this upload on the host first, because it was strided or of another type: then the
// operator that copies is its own caller, and what crosses is the copy that it made, in ordinary memory.
bool is_rearranged_on_host(const ProcessModel& model, std::uint32_t call);

}  // namespace turnpike::analyze
