// Copies between GPUs beside which a GPU that computes elsewhere in the step computes nothing: on the streams that
// compute they wait for what is queued there, and what is queued behind waits for them.
#include <algorithm>

#include "analyze/rules/compute.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Of the copies' time: with more of it beside kernels there is little left to hide.
constexpr double kSerialisedShare = 0.5;

// A copy's record names one of its two GPUs. Which the other one is, is known where only two computed.
std::vector<std::uint32_t> devices_beside(const Compute& compute, std::uint32_t of_copy) {
  std::vector<std::uint32_t> devices = compute.devices();
  if (devices.size() > 2) std::erase_if(devices, [=](std::uint32_t device) { return device != of_copy; });
  return devices;
}

struct PeerCopies {
  std::int64_t copy_ns = 0;
  std::int64_t exposed_ns = 0;  // on the GPU that stood still the longest, copy by copy
};

PeerCopies peer_copies_of(const ProcessModel& model, const Compute& compute, const Selection& calls) {
  PeerCopies copies;
  for (const std::uint32_t call : calls) {
    for (const std::uint32_t index : model.operations_of(call)) {
      const Operation& operation = model.graph().operations[index];
      const Transfer* transfer = model.transfer_of(operation);
      if (transfer == nullptr || transfer->direction != Direction::kPeerToPeer) continue;
      std::int64_t exposed_ns = 0;
      for (const std::uint32_t device : devices_beside(compute, operation.device)) {
        exposed_ns = std::max(exposed_ns, compute.exposed_ns(device, operation));
      }
      copies.copy_ns += operation.end_ns - operation.start_ns;
      copies.exposed_ns += exposed_ns;
    }
  }
  return copies;
}

}  // namespace

void find_peer_copy_serialised(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  const Compute compute(model);
  if (!compute.is_known()) return;
  for (const SiteCalls& site : input.sites) {
    const CopyCount& copies = count_copies(site, Direction::kPeerToPeer);
    if (copies.count == 0) continue;
    Selection calls = copies_of(site, Direction::kPeerToPeer);
    const PeerCopies peer = peer_copies_of(model, compute, calls);
    if (static_cast<double>(peer.exposed_ns) < kSerialisedShare * static_cast<double>(peer.copy_ns)) continue;
    found.push_back({.where = site.facts->place,
                     .title = "a GPU stops computing while this copy between GPUs runs",
                     .evidence = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) +
                                 " each; they took " + time_a_step(model, peer.copy_ns) + ", and one of the GPUs " +
                                 "computed nothing for " + time_a_step(model, peer.exposed_ns) + " of it",
                     .advice =
                         "Copy beside the kernels: work = tp.copy_(y, x), and work.wait() where the data is needed. By "
                         "hand, if the kernels around it do not need the data: with torch.cuda.stream(of_sender), "
                         "torch.cuda.stream(of_receiver): y.copy_(x).",
                     .changes = {{Change::kSideStreams, std::move(calls)}}});
  }
}

}  // namespace turnpike::analyze
