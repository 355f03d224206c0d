// Copies that hold the host though they need not: of page-locked memory (or too small to be staged) but not
// asynchronous, and large results that are fetched on the spot.
#include "analyze/cost_model.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

std::string evidence_of(const ProcessModel& model, const CopyCount& copies) {
  return times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each; the CPU stood still for " +
         time_a_step(model, copies.host_ns) + ", the copies themselves took " + time_a_step(model, copies.device_ns);
}

// malloc gives large blocks back to the system and takes new pages for the next one, which the system must clear:
// copies into them cross at 1 to 2 GB/s, into pages used before at 12 (H100).
constexpr std::uint64_t kLargeBytes = 1 << 20;

bool comes_into_new_pages(const CopyCount& copies) {
  if (copies.pageable_count == 0 || copies.device_ns == 0 || copies.bytes < kLargeBytes * copies.count) return false;
  return static_cast<double>(copies.bytes) < kNewPagesGbps * static_cast<double>(copies.device_ns);
}

std::string advice_for_download(const SiteCalls& site) {
  if (!site.facts->place.op) {
    return "Copy into page-locked memory with cudaMemcpyAsync, and read it one step later. Before that, wait with "
           "cudaEventSynchronize.";
  }
  return "Read it one step later: pending = tp.fetch(x) now, pending.result() in the next step. By hand: "
         "host.copy_(x, non_blocking=True) into a pinned tensor, and event.synchronize() before the read.";
}

// The CPU still waits until the bytes have come into pages that are there.
std::vector<OtherAdvice> advice_for_new_pages(const ProcessModel& model, const CopyCount& copies) {
  const double bytes_a_step = static_cast<double>(copies.bytes) / static_cast<double>(model.step_count());
  return {{.text = "If it is needed at once: malloc takes new pages for each result. tp.to(x, \"cpu\") uses its memory "
                   "again, and so does malloc with MALLOC_MMAP_THRESHOLD_=1073741824 and "
                   "MALLOC_TRIM_THRESHOLD_=17179869184 in the environment.",
           .reach = {.leaves_ns = bytes_a_step / kUsedPagesGbps}}};
}

void find_upload(const ProcessModel& model, const SiteCalls& site, std::vector<Candidate>& found) {
  if (upload_fault(model, site) != CopyFault::kHeld) return;
  const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
  if (!matters(model, copies.host_ns) || !is_recurring(model, copies_of(site, Direction::kHostToDevice))) return;
  const bool is_of_python = site.facts->place.op.has_value();
  found.push_back({.where = site.facts->place,
                   .title = "the CPU waits for an upload that could run by itself",
                   .evidence = evidence_of(model, copies),
                   .advice = is_of_python
                                 ? "Let the CPU go on: x.to(device, non_blocking=True). Do not overwrite x before the "
                                   "copy is done. Or tp.to(x, device), which sees to that."
                                 : "Let the CPU go on: cudaMemcpyAsync on a stream instead of cudaMemcpy. Do not "
                                   "overwrite the buffer before an event behind the copy has fired.",
                   .edit = {is_of_python ? LineEdit::Kind::kStageUpload : LineEdit::Kind::kNone},
                   .changes = {{Change::kNonBlocking, copies_of(site, Direction::kHostToDevice)}}});
}

void find_download(const ProcessModel& model, const SiteCalls& site, std::vector<Candidate>& found) {
  if (download_fault(model, site) != CopyFault::kHeld) return;
  const CopyCount& copies = count_copies(site, Direction::kDeviceToHost);
  if (!matters(model, copies.host_ns) || !is_recurring(model, copies_of(site, Direction::kDeviceToHost))) return;
  const bool is_pageable = copies.pageable_count > 0;
  const bool is_of_python = site.facts->place.op.has_value();
  const Selection& calls = copies_of(site, Direction::kDeviceToHost);
  // Without the link's rate the gain is that of not waiting; the copies would also be faster.
  const bool can_pin = is_pageable && is_link_known(model, calls, Direction::kDeviceToHost);
  found.push_back({.where = site.facts->place,
                   .title = is_pageable ? "the CPU waits for a result, which comes into ordinary (pageable) memory"
                                        : "the CPU waits for a result to come down",
                   .evidence = evidence_of(model, copies),
                   .advice = advice_for_download(site),
                   .changes = {{can_pin ? Change::kPin : Change::kDeferSync, calls}},
                   .others = is_of_python && comes_into_new_pages(copies) ? advice_for_new_pages(model, copies)
                                                                          : std::vector<OtherAdvice>()});
}

}  // namespace

void find_blocking_copy(const RuleInput& input, std::vector<Candidate>& found) {
  for (const SiteCalls& site : input.sites) {
    find_upload(input.model, site, found);
    find_download(input.model, site, found);
  }
}

}  // namespace turnpike::analyze
