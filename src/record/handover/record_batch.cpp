// Collects records and counts them.
#include "record/handover/record_batch.h"

#include <cstring>

namespace turnpike::record {
namespace {

enum : std::size_t { kH2d, kD2h, kD2d, kP2p, kH2h, kMemset };

}  // namespace

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

bool RecordBatch::append(const void* record, std::size_t size) {
  const bool has_room = areas_[area_].append(record, size);
  if (!has_room) dropped_bytes_ += size;
  return has_room;
}

void RecordBatch::add_raw(const std::byte* slot) {
  const auto add_as = [&]<typename Record>(Record record) {
    std::memcpy(&record, slot, sizeof(record));
    add(record);
  };
  trace::RecordHeader header;
  std::memcpy(&header, slot, sizeof(header));
  switch (header.kind) {
    case trace::RecordKind::kCall:
      return add_as(trace::CallRecord{});
    case trace::RecordKind::kMemcpy:
      return add_as(trace::MemcpyRecord{});
    case trace::RecordKind::kMemset:
      return add_as(trace::MemsetRecord{});
    case trace::RecordKind::kKernel:
      return add_as(trace::KernelRecord{});
    default:
      append(slot, header.bytes);
  }
}

void RecordBatch::clear() {
  area_ = 1 - area_;
  areas_[area_].clear();
}

void RecordBatch::restart(const RecordCounts& counts) {
  areas_[area_].clear();
  dropped_bytes_ = 0;
  counts_ = counts;
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

trace::EndEntry end_entry(std::int64_t end_realtime_ns, const RecordCounts& counts, const RecordCounts& before) {
  trace::EndEntry end{};
  end.end_realtime_ns = end_realtime_ns;
  end.call_count = counts.calls - before.calls;
  end.memcpy_count = counts.copies - before.copies;
  end.memcpy_bytes = counts.copy_bytes - before.copy_bytes;
  end.memset_count = counts.memsets - before.memsets;
  end.kernel_count = counts.kernels - before.kernels;
  return end;
}

}  // namespace turnpike::record
