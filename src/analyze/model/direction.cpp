// Which way a copy goes: CUPTI's kind of copy first, then the memory kinds.
#include "analyze/model/direction.h"

namespace turnpike::analyze {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

bool is_host(MemoryKind kind) {
  return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned;
}
bool is_on_device(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kArray || kind == MemoryKind::kDeviceStatic;
}

std::optional<Direction> direction_from_memory(MemoryKind src, MemoryKind dst) {
  if (is_host(src) && is_host(dst)) return Direction::kHostToHost;
  if (is_host(src) && is_on_device(dst)) return Direction::kHostToDevice;
  if (is_on_device(src) && is_host(dst)) return Direction::kDeviceToHost;
  if (is_on_device(src) && is_on_device(dst)) return Direction::kDeviceToDevice;
  return std::nullopt;
}

}  // namespace

std::optional<Direction> direction_of(const trace::MemcpyRecord& copy) {
  const bool are_devices_known = copy.src_device != trace::kUnknownId && copy.dst_device != trace::kUnknownId;
  if (are_devices_known && copy.src_device != copy.dst_device) return Direction::kPeerToPeer;
  switch (copy.copy_kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
      return Direction::kHostToDevice;
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
      return Direction::kDeviceToHost;
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray:
    case CopyKind::kDeviceToDevice:
      return Direction::kDeviceToDevice;
    case CopyKind::kHostToHost:
      return Direction::kHostToHost;
    case CopyKind::kPeerToPeer:
      return are_devices_known ? Direction::kDeviceToDevice : Direction::kPeerToPeer;
    case CopyKind::kUnknown:
      break;
  }
  return direction_from_memory(copy.src_kind, copy.dst_kind);
}

std::optional<Direction> direction_of(trace::MigrationKind kind) {
  switch (kind) {
    case trace::MigrationKind::kHostToDevice:
      return Direction::kHostToDevice;
    case trace::MigrationKind::kDeviceToHost:
      return Direction::kDeviceToHost;
    case trace::MigrationKind::kDeviceToDevice:
      return Direction::kPeerToPeer;
    case trace::MigrationKind::kFault:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> name_of(trace::MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kArray:
      return "array";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kDeviceStatic:
      return "device_static";
    case MemoryKind::kManagedStatic:
      return "managed_static";
    case MemoryKind::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace turnpike::analyze
