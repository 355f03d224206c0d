// Large copies of pinned memory that reach far less than the link can do.
#include <cmath>
#include <map>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Smaller ones spend a part of their time on starting.
constexpr std::uint64_t kLargeBytes = 1u << 20;
// Of the link's rate. Copies both ways at once slow each other down by less.
constexpr double kSlowShare = 0.7;

// The large pinned copies of a site, with one device.
struct LargeCopies {
  Selection calls;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t device_ns = 0;
  bool are_in_rows = false;  // cudaMemcpy2D and its kin
};

bool is_large(const Transfer* transfer, Direction direction) {
  if (transfer == nullptr || transfer->direction != direction || transfer->bytes < kLargeBytes) return false;
  return transfer->src_kind == trace::MemoryKind::kPinned || transfer->dst_kind == trace::MemoryKind::kPinned;
}

// By device: each has a link of its own.
std::map<std::uint32_t, LargeCopies> large_copies_of(const ProcessModel& model, const SiteCalls& site,
                                                     Direction direction) {
  std::map<std::uint32_t, LargeCopies> by_device;
  for (const std::uint32_t call : copies_of(model, site, direction)) {
    const std::string& name = model.process().string(model.call(call).name);
    const bool are_in_rows = name.find("2D") != std::string::npos || name.find("3D") != std::string::npos;
    for (const std::uint32_t index : model.operations_of(call)) {
      const Transfer* transfer = model.transfer_of(model.graph().operations[index]);
      if (!is_large(transfer, direction)) continue;
      LargeCopies& copies = by_device[transfer->device];
      copies.count += 1;
      copies.bytes += transfer->bytes;
      copies.device_ns += transfer->duration_ns();
      copies.are_in_rows = are_in_rows;
      if (copies.calls.empty() || copies.calls.back() != call) copies.calls.push_back(call);
    }
  }
  return by_device;
}

// `where` names the device if the site copies with several.
void find(const ProcessModel& model, const SiteCalls& site, Direction direction, std::uint32_t device,
          LargeCopies copies, const std::string& where, std::vector<Candidate>& found) {
  if (copies.device_ns <= 0) return;
  const auto link_gbps = model.link_gbps(device, direction);
  const double gbps = static_cast<double>(copies.bytes) / static_cast<double>(copies.device_ns);
  if (!link_gbps || gbps >= kSlowShare * *link_gbps) return;
  const std::string percent = std::to_string(std::lround(100 * gbps / *link_gbps));
  found.push_back(
      {.site = site.facts->place.site,
       .title = "this copy reaches only " + percent + " % of the link's speed" + where,
       .evidence = times_a_step(model, copies.count) + ", " +
                   bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count)) + " each at " +
                   rate_text(gbps) + " of " + rate_text(link_gbps) + "; the copies took " +
                   time_a_step(model, copies.device_ns),
       .advice =
           copies.are_in_rows
               ? "It copies row by row. Keep the rows without gaps and copy them in one piece (cudaMemcpyAsync, or "
                 "tensor.contiguous() once before the loop), and take the part that is needed on the GPU."
               : "Run the process beside the GPU (numactl --cpunodebind=N --membind=N; nvidia-smi topo -m names N), "
                 "and see what else uses the link then. `turnpike bench link` says what it can do.",
       .changes = {{Change::kFullLinkSpeed, std::move(copies.calls)}}});
}

}  // namespace

void find_slow_link(const RuleInput& input, std::vector<Candidate>& found) {
  for (const SiteCalls& site : input.sites) {
    for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
      auto by_device = large_copies_of(input.model, site, direction);
      for (auto& [device, copies] : by_device) {
        const std::string where = by_device.size() > 1 ? " (GPU " + std::to_string(device) + ")" : "";
        find(input.model, site, direction, device, std::move(copies), where, found);
      }
    }
  }
}

}  // namespace turnpike::analyze
