// Collects records and counts them.
#include "record/handover/record_batch.h"

#include <cstring>

namespace turnpike::record {
namespace {

enum : std::size_t { kH2d, kD2h, kD2d, kP2p, kH2h, kMemset };

std::size_t direction_of(const trace::MemcpyRecord& record) {
  const bool is_between_devices = record.src_device != trace::kUnknownId && record.dst_device != trace::kUnknownId &&
                                  record.src_device != record.dst_device;
  if (is_between_devices) return kP2p;
  switch (record.copy_kind) {
    case trace::CopyKind::kHostToDevice:
    case trace::CopyKind::kHostToArray:
      return kH2d;
    case trace::CopyKind::kDeviceToHost:
    case trace::CopyKind::kArrayToHost:
      return kD2h;
    case trace::CopyKind::kHostToHost:
      return kH2h;
    case trace::CopyKind::kPeerToPeer:
      return kP2p;
    default:
      return kD2d;
  }
}

}  // namespace

void RecordBatch::append(const void* record, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(record);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
}

void RecordBatch::add_raw(const std::byte* slot) {
  trace::RecordHeader header;
  std::memcpy(&header, slot, sizeof(header));
  append(slot, header.bytes);
  if (header.kind == trace::RecordKind::kCall) {
    trace::CallRecord call;
    std::memcpy(&call, slot, sizeof(call));
    count(call);
  }
}

void RecordBatch::restart() {
  bytes_.clear();
  counts_ = {};
}

void RecordBatch::count(const trace::CallRecord& record) {
  ++counts_.calls;
  if (record.kind == trace::CallKind::kSynchronize) ++counts_.syncs;
  if (record.kind == trace::CallKind::kSynchronize || record.kind == trace::CallKind::kCopy) {
    counts_.waiting_ns += record.end_ns - record.start_ns;
  }
}

void RecordBatch::count(const trace::MemcpyRecord& record) {
  ++counts_.copies;
  counts_.copy_bytes += record.bytes;
  const std::size_t direction = direction_of(record);
  ++counts_.transfer_counts[direction];
  counts_.transfer_bytes[direction] += record.bytes;
}

void RecordBatch::count(const trace::MemsetRecord& record) {
  ++counts_.memsets;
  ++counts_.transfer_counts[kMemset];
  counts_.transfer_bytes[kMemset] += record.bytes;
}

void RecordBatch::count(const trace::KernelRecord&) {
  ++counts_.kernels;
}

}  // namespace turnpike::record
