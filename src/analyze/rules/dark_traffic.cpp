// Links that carried much more than copies explain.
#include "analyze/model/dark_traffic.h"

#include <cmath>
#include <string>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Below this it is page tables, and what else the driver and its neighbours do.
constexpr std::uint64_t kMinDarkBytes = 256'000'000;
constexpr double kMinDarkShare = 0.2;
// In one reading at least. Counters of an idle link count a little, too, which adds up in a long recording.
constexpr double kMinDarkGbps = 0.1;

std::string kernel_part(const ProcessModel& model, const DarkTraffic& traffic) {
  if (traffic.kernel == trace::kNoId) return "; no kernel of this process ran meanwhile";
  const auto percent = std::lround(100 * traffic.kernel_share);
  return "; meanwhile " + kernel_text(model.process().string(traffic.kernel)) + " ran for " + std::to_string(percent) +
         " % of the time of all kernels";
}

}  // namespace

void find_dark_traffic(const RuleInput& input, std::vector<Candidate>& found) {
  for (const DarkTraffic& traffic : dark_traffic_of(input.model.timeline())) {
    if (traffic.dark_bytes < kMinDarkBytes || traffic.peak_gbps < kMinDarkGbps) continue;
    if (static_cast<double>(traffic.dark_bytes) < kMinDarkShare * static_cast<double>(traffic.carried_bytes)) continue;
    found.push_back({.where = {},
                     .severity = Severity::kInfo,
                     .title = "the link of GPU " + std::to_string(traffic.device) + " carried " +
                              size_text(traffic.carried_bytes) + ", and copies explain " +
                              size_text(traffic.copied_bytes) + " of it",
                     .evidence = "counted by the GPU over " + duration_text(traffic.counted_ns) + ": " +
                                 size_text(traffic.dark_bytes) + " are neither copies nor launches" +
                                 kernel_part(input.model, traffic),
                     .advice = "Copy what kernels use more than once to the GPU first. Kernels that read or write host "
                               "memory do that (zero-copy, UVA or managed memory), and so do other programs on this "
                               "GPU.",
                     .changes = {}});
  }
}

}  // namespace turnpike::analyze
