// Uploads from ordinary memory, which the GPU cannot reach: the driver stages them while the host waits.
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Below this the driver takes the bytes along with the command, and pinning gains nothing.
constexpr std::uint64_t kStagedBytes = 64u << 10;

}  // namespace

void find_pageable_async_copy(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    const CopyCount copies = count_copies(model, site, Direction::kHostToDevice);
    if (copies.pageable_count == 0 || copies.bytes / copies.count <= kStagedBytes) continue;
    const double gbps = static_cast<double>(copies.bytes) / static_cast<double>(copies.device_ns);
    found.push_back(
        {.site = site.facts->place.site,
         .title = "uploads from ordinary (pageable) memory",
         .evidence = times_a_step(model, copies.count) + ", " +
                     bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count)) + " each at " +
                     rate_text(gbps) + "; the CPU stood still for " + time_a_step(model, copies.host_ns),
         .advice = "Load into page-locked memory: DataLoader(..., pin_memory=True) or tensor.pin_memory() once, then "
                   ".to(device, non_blocking=True). Or tp.to(batch, device), which needs no pinning.",
         .changes = {{Change::kPin, copies_of(model, site, Direction::kHostToDevice)}}});
  }
}

}  // namespace turnpike::analyze
