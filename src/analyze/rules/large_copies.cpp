// Adds up copies, and looks up the nodes of their addresses.
#include "analyze/rules/large_copies.h"

#include <algorithm>
#include <string>

#include "analyze/rules/measure.h"

namespace turnpike::analyze {
namespace {

// Smaller ones spend a part of their time on starting.
constexpr std::uint64_t kLargeCopyBytes = 1u << 20;

bool is_large(const Transfer* transfer, Direction direction, trace::MemoryKind memory) {
  if (transfer == nullptr || transfer->direction != direction || transfer->bytes < kLargeCopyBytes) return false;
  return (direction == Direction::kHostToDevice ? transfer->src_kind : transfer->dst_kind) == memory;
}

}  // namespace

std::optional<std::uint32_t> node_of_gpu(const ProcessModel& model, std::uint32_t device) {
  for (const auto& record : model.timeline().devices) {
    if (record.device == device && record.numa_node != trace::kUnknownNode) return record.numa_node;
  }
  return std::nullopt;
}

std::map<std::uint32_t, LargeCopies> large_copies_of(const ProcessModel& model, const HostNodes& nodes,
                                                     const SiteCalls& site, Direction direction,
                                                     trace::MemoryKind memory) {
  std::map<std::uint32_t, LargeCopies> by_device;
  for (const std::uint32_t index : copies_of(site, direction)) {
    const Call& call = model.call(index);
    const std::string& name = model.process().string(call.name);
    const auto node = nodes.node_of(direction == Direction::kHostToDevice ? call.src : call.dst);
    for (const std::uint32_t operation : model.operations_of(index)) {
      const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
      if (!is_large(transfer, direction, memory)) continue;
      LargeCopies& copies = by_device[transfer->device];
      copies.count += 1;
      copies.bytes += transfer->bytes;
      copies.device_ns += transfer->duration_ns();
      const Link* link = model.link(transfer->device);
      if (link != nullptr) copies.link_ns += link->copy_ns(direction, static_cast<double>(transfer->bytes)).value_or(0);
      copies.are_in_rows = name.find("2D") != std::string::npos || name.find("3D") != std::string::npos;
      if (copies.calls.empty() || copies.calls.back() != index) copies.calls.push_back(index);
      const auto gpu_node = node_of_gpu(model, transfer->device);
      if (!node || !gpu_node || *node == *gpu_node) continue;
      copies.far_count += 1;
      copies.far_node = *node;
    }
  }
  std::erase_if(by_device, [](const auto& entry) { return entry.second.device_ns <= 0; });
  return by_device;
}

}  // namespace turnpike::analyze
