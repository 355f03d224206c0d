// Uploads that PyTorch can only make from a copy: it first gathers what is not contiguous, or converts the type, into
// new ordinary memory on the host. Even a page-locked source is worth nothing then.
#include <algorithm>

#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// What the host did between its last call and each of these, in which the copy on the host was made.
std::int64_t gaps_before_ns(const ProcessModel& model, const Selection& calls) {
  const Graph& graph = model.graph();
  std::int64_t sum_ns = 0;
  for (const std::uint32_t call : calls) {
    const std::uint32_t before = graph.previous_call[call];
    if (before == kNone) continue;
    const std::int64_t gap_ns = graph.measured_ns[graph.call_start(call)] - graph.measured_ns[graph.call_end(before)];
    sum_ns += std::max<std::int64_t>(gap_ns, 0);
  }
  return sum_ns;
}

bool has_waits_behind(const ProcessModel& model, const Selection& calls) {
  return std::any_of(calls.begin(), calls.end(),
                     [&](std::uint32_t call) { return model.synchronisation_of(call) != kNone; });
}

}  // namespace

void find_strided_or_converting_copy(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    if (upload_fault(model, site) != CopyFault::kRearranged) continue;
    const CopyCount copies = count_copies(model, site, Direction::kHostToDevice);
    const Selection calls = copies_of(model, site, Direction::kHostToDevice);
    const std::int64_t before_ns = gaps_before_ns(model, calls);
    // PyTorch converts on the host only where it also waits: without a wait the source was strided.
    const bool is_strided = !has_waits_behind(model, calls);
    const bool is_rate_known = is_link_known(model, calls, Direction::kHostToDevice);
    found.push_back(
        {.site = site.facts->place.site,
         .title = is_strided ? "the data is gathered into a copy on the CPU before it goes up"
                             : "the data is gathered or converted into a copy on the CPU before it goes up",
         .evidence =
             times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) +
             " each from a temporary copy in ordinary memory; the CPU spent " + time_a_step(model, before_ns) +
             " before the uploads and stood still for " + time_a_step(model, copies.host_ns) + " in them" +
             (is_rate_known ? ""
                            : "; the gain leaves out that they would be faster, as the rate of the link is unknown"),
         .advice =
             is_strided
                 ? "Upload the whole and slice on the GPU: x.to(device, non_blocking=True)[:, ::2]; or make it "
                   "contiguous once, before the loop: x = x[:, ::2].contiguous().pin_memory()."
                 : "Upload it as it is stored and change it on the GPU: x.to(device, non_blocking=True).to(dtype), "
                   "and slice or transpose there too. Or tp.to(x, device, dtype=dtype).",
         .changes = {{Change::kSkipHostCopy, calls}, {is_rate_known ? Change::kPin : Change::kNonBlocking, calls}}});
  }
}

}  // namespace turnpike::analyze
