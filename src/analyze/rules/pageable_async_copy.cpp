// Uploads from ordinary memory, which the GPU cannot reach: the driver stages them while the host waits.
#include <algorithm>
#include <optional>

#include "analyze/rules/copy_fault.h"
#include "analyze/rules/loader.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

std::string evidence_of(const ProcessModel& model, const CopyCount& copies, const Selection& calls) {
  std::string text = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each";
  if (copies.device_ns > 0) {
    text += ", which cross at " + rate_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.device_ns));
    const std::uint32_t device = model.graph().operations[model.operations_of(calls.front()).front()].device;
    const auto link_gbps = model.link_gbps(device, Direction::kHostToDevice);
    if (link_gbps) text += ", where the link does " + rate_text(link_gbps);
  }
  return text + "; the CPU stood still for " + time_a_step(model, copies.host_ns);
}

std::string advice_for(const SiteCalls& site, bool is_loaded_here) {
  if (!site.facts->place.op) {
    return "Allocate the buffer once with cudaMallocHost, or page-lock it once with cudaHostRegister, then use "
           "cudaMemcpyAsync.";
  }
  if (is_loaded_here) {
    return "tp.to(batch, device) stages it on threads of its own. As long as the DataLoader has no workers, pinning in "
           "it takes this process more time than the copy saves.";
  }
  return "Load into page-locked memory: DataLoader(..., pin_memory=True) or tensor.pin_memory() once, then "
         ".to(device, non_blocking=True). Or tp.to(batch, device), which needs no pinning.";
}

}  // namespace

void find_pageable_async_copy(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  std::optional<bool> is_loaded_here;  // looked up for the first finding
  for (const SiteCalls& site : input.sites) {
    if (upload_fault(model, site) != CopyFault::kPageable) continue;
    const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
    if (!matters(model, std::max(copies.host_ns, copies.device_ns))) continue;
    const Selection& calls = copies_of(site, Direction::kHostToDevice);
    if (!is_loaded_here) is_loaded_here = loads_in_main_process(model);
    found.push_back({.site = site.facts->place.site,
                     .library_site = site.facts->place.library_site,
                     .title = "uploads from ordinary (pageable) memory",
                     .evidence = evidence_of(model, copies, calls),
                     .advice = advice_for(site, *is_loaded_here),
                     .changes = {{Change::kPin, calls}}});
  }
}

}  // namespace turnpike::analyze
