// Activity records as CUPTI lays them in a buffer.
#include "records.h"

#include <unistd.h>

#include <cstring>

#include "script.h"

namespace turnpike::fake {
namespace {

// CUPTI of CUDA 12.8 added copyCount to copies, that of 13.0 eight bytes to kernels.
constexpr std::uint32_t kVersion12_8 = 26;
constexpr std::uint32_t kVersion13_0 = 130000;
constexpr std::size_t kMemcpy5Bytes = 88;
constexpr std::size_t kKernel9Bytes = 208;
static_assert(sizeof(CUpti_ActivityMemcpy6) == 96 && sizeof(CUpti_ActivityKernel10) == 216);
static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == 96 && sizeof(CUpti_ActivityMemset4) == 88);

template <typename Record>
void append(std::vector<std::uint8_t>& out, const Record& record) {
  const std::size_t bytes = record_bytes(record.kind);
  const std::size_t start = out.size();
  // What newer versions add is filled, as there: a reader must not take it for zeros.
  out.resize(start + bytes, 0xA5);
  std::memcpy(out.data() + start, &record, std::min(sizeof record, bytes));
}

template <typename Record>
Record common(const DeviceWork& work) {
  Record record{};
  record.kind = activity_kind(work.kind);
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  record.graphNodeId = work.graph_node;
  record.graphId = work.graph;
  return record;
}

template <typename Record>
Record copy_record(const DeviceWork& work) {
  auto record = common<Record>(work);
  record.copyKind = work.copy_kind;
  record.srcKind = work.src_kind;
  record.dstKind = work.dst_kind;
  record.flags = work.is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = work.bytes;
  return record;
}

CUpti_ActivityUnifiedMemoryCounter3 migration_record(const DeviceWork& work) {
  CUpti_ActivityUnifiedMemoryCounter3 record{};
  record.kind = activity_kind(work.kind);
  record.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(work.copy_kind);
  record.value = work.bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.address = work.address;
  const bool is_upload = work.copy_kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  // As the real one numbers them: devices from 0, the processor above them all.
  record.srcId = is_upload ? 0xFFFFFFFFu : work.device;
  record.dstId = is_upload ? work.device : 0xFFFFFFFFu;
  record.streamId = work.stream;
  record.processId = static_cast<std::uint32_t>(getpid());
  return record;
}

}  // namespace

CUpti_ActivityKind activity_kind(WorkKind kind) {
  switch (kind) {
    case WorkKind::kMemcpy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case WorkKind::kPeerCopy:
      return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case WorkKind::kMemset:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    case WorkKind::kKernel:
      return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case WorkKind::kMigration:
      return CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

std::size_t record_bytes(std::uint32_t kind) {
  const std::size_t grow = script().grow_bytes;
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return (script().version < kVersion12_8 ? kMemcpy5Bytes : sizeof(CUpti_ActivityMemcpy6)) + grow;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4) + grow;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4) + grow;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return (script().version < kVersion13_0 ? kKernel9Bytes : sizeof(CUpti_ActivityKernel10)) + grow;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(CUpti_ActivityUnifiedMemoryCounter3) + grow;
    case kUnknownKind:
      return kUnknownBytes;
    default:
      return 0;
  }
}

void append_record(std::vector<std::uint8_t>& out, const DeviceWork& work) {
  switch (work.kind) {
    case WorkKind::kMemcpy: {
      auto record = copy_record<CUpti_ActivityMemcpy6>(work);
      record.copyCount = work.copy_count;
      return append(out, record);
    }
    case WorkKind::kPeerCopy: {
      auto record = copy_record<CUpti_ActivityMemcpyPtoP4>(work);
      record.srcDeviceId = work.src_device;
      record.dstDeviceId = work.dst_device;
      return append(out, record);
    }
    case WorkKind::kMemset: {
      auto record = common<CUpti_ActivityMemset4>(work);
      record.value = work.value;
      record.bytes = work.bytes;
      record.memoryKind = work.dst_kind;
      record.flags = work.is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
      return append(out, record);
    }
    case WorkKind::kKernel: {
      auto record = common<CUpti_ActivityKernel10>(work);
      record.name = work.name;
      return append(out, record);
    }
    case WorkKind::kMigration:
      return append(out, migration_record(work));
  }
}

void append_unknown_record(std::vector<std::uint8_t>& out) {
  const std::size_t start = out.size();
  out.resize(start + kUnknownBytes, 0xA5);
  const std::uint32_t kind = kUnknownKind;
  std::memcpy(out.data() + start, &kind, sizeof kind);
}

}  // namespace turnpike::fake
