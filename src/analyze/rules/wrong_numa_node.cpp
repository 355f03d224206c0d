// Large copies whose host memory lies on another NUMA node than the GPU, and which are slower than the link.
#include <cmath>
#include <string>

#include "analyze/rules/large_copies.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Of what the link does. From there on the way between the nodes is no hindrance.
constexpr double kFullShare = 0.9;

Reach reach_of(trace::MemoryKind memory) {
  if (memory == trace::MemoryKind::kPinned) {
    return {.low = 0.5, .high = 1, .reason = "the way between the nodes may be a part of what slows them down"};
  }
  return {.low = 0, .high = 0.5, .reason = "the driver still copies ordinary memory a second time"};
}

void find(const ProcessModel& model, const SiteCalls& site, std::uint32_t device, LargeCopies copies,
          trace::MemoryKind memory, std::vector<Candidate>& found) {
  const auto gpu_node = node_of_gpu(model, device);
  const auto share = copies.share_of_link();
  if (!gpu_node || !copies.are_far() || !share || *share >= kFullShare) return;
  const std::string near = std::to_string(*gpu_node);
  found.push_back({.where = site.facts->place,
                   .title = "this memory is on NUMA node " + std::to_string(copies.far_node) + ", and GPU " +
                            std::to_string(device) + " on node " + near,
                   .evidence = times_a_step(model, copies.count) + ", " +
                               bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count)) +
                               " each at " + rate_text(copies.gbps()) + " of the link's " +
                               rate_text(copies.link_gbps()) + "; the copies took " +
                               time_a_step(model, copies.device_ns),
                   .advice = "Run the process beside its GPU: numactl --cpunodebind=" + near + " --membind=" + near +
                             " COMMAND. Or, before it allocates: os.sched_setaffinity(0, cpus), with those of "
                             "/sys/devices/system/node/node" +
                             near + "/cpulist.",
                   .changes = {{Change::kFullLinkSpeed, std::move(copies.calls)}},
                   .reach = reach_of(memory)});
}

}  // namespace

void find_wrong_numa_node(const RuleInput& input, std::vector<Candidate>& found) {
  const HostNodes nodes(input.model.process());
  if (nodes.is_empty()) return;
  for (const SiteCalls& site : input.sites) {
    for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
      for (const auto memory : {trace::MemoryKind::kPinned, trace::MemoryKind::kPageable}) {
        auto by_device = large_copies_of(input.model, nodes, site, direction, memory);
        for (auto& [device, copies] : by_device) {
          find(input.model, site, device, std::move(copies), memory, found);
        }
      }
    }
  }
}

}  // namespace turnpike::analyze
