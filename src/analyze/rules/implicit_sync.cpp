// A value is read back from the GPU (.item(), .cpu(), nonzero, a boolean index, print), so the host waits for all work
// that was queued before it, and the GPU then waits for the host.
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Larger ones are results that someone wants, not a value that decides something.
constexpr std::uint64_t kValueBytes = 4096;

}  // namespace

void find_implicit_sync(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    const CopyCount copies = count_copies(model, site, Direction::kDeviceToHost);
    if (copies.count == 0 || copies.host_ns == 0 || copies.bytes / copies.count > kValueBytes) continue;
    const std::string op = site.facts->place.op.value_or("a copy to the CPU");
    found.push_back({.site = site.facts->place.site,
                     .title = op + " makes the CPU wait for the GPU",
                     .evidence = times_a_step(model, copies.count) + ", for " +
                                 bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count)) +
                                 "; the CPU waited for " + time_a_step(model, copies.host_ns),
                     .advice =
                         "Keep the value on the GPU (total += loss.detach()) and read it at the end or every "
                         "hundredth step. Or read it without waiting: value = tp.fetch(loss), later value.item().",
                     .changes = {{Change::kRemoveSync, copies_of(model, site, Direction::kDeviceToHost)}}});
  }
}

}  // namespace turnpike::analyze
