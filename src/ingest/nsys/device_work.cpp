// One function per table of device work.
#include "ingest/nsys/device_work.h"

#include "trace/make_record.h"

namespace turnpike::ingest {
namespace {

using trace::CopyKind;
using trace::MemoryKind;
using trace::MigrationKind;

// The columns of Work; those of one table alone follow from kFirstOwn on.
#define TURNPIKE_WORK_COLUMNS "start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"
constexpr std::size_t kFirstOwn = 7;
// Old versions may lack the process of device work, but never its times.
constexpr std::size_t kNeeded = 2;

std::uint64_t node_of(std::optional<std::int64_t> node) {
  return static_cast<std::uint64_t>(node.value_or(0));
}

}  // namespace

NsysDeviceWork::NsysDeviceWork(NsysExport& from, NsysStacks& stacks, const NsysRanges& ranges, const NsysCalls& calls)
    : export_(from),
      stacks_(stacks),
      ranges_(ranges),
      calls_(calls),
      operations_(
          from, "ENUM_CUDA_MEMCPY_OPER",
          {{"CUDA_MEMCPY_KIND_HTOD", "Host-to-Device", 1, {CopyKind::kHostToDevice, false, {}}},
           {"CUDA_MEMCPY_KIND_DTOH", "Device-to-Host", 2, {CopyKind::kDeviceToHost, false, {}}},
           {"CUDA_MEMCPY_KIND_HTOA", "Host-to-Array", 3, {CopyKind::kHostToArray, false, {}}},
           {"CUDA_MEMCPY_KIND_ATOH", "Array-to-Host", 4, {CopyKind::kArrayToHost, false, {}}},
           {"CUDA_MEMCPY_KIND_ATOA", "Array-to-Array", 5, {CopyKind::kArrayToArray, false, {}}},
           {"CUDA_MEMCPY_KIND_ATOD", "Array-to-Device", 6, {CopyKind::kArrayToDevice, false, {}}},
           {"CUDA_MEMCPY_KIND_DTOA", "Device-to-Array", 7, {CopyKind::kDeviceToArray, false, {}}},
           {"CUDA_MEMCPY_KIND_DTOD", "Device-to-Device", 8, {CopyKind::kDeviceToDevice, false, {}}},
           {"CUDA_MEMCPY_KIND_HTOH", "Host-to-Host", 9, {CopyKind::kHostToHost, false, {}}},
           {"CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer", 10, {CopyKind::kPeerToPeer, false, {}}},
           {"CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device", 11, {{}, true, MigrationKind::kHostToDevice}},
           {"CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host", 12, {{}, true, MigrationKind::kDeviceToHost}},
           {"CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device", 13, {{}, true, MigrationKind::kDeviceToDevice}}},
          {CopyKind::kUnknown, false, {}}),
      // The documented numbers are Nsight Systems' own: CUPTI counts from 1.
      memory_kinds_(from, "ENUM_CUDA_MEM_KIND",
                    {{"CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable", 0, MemoryKind::kPageable},
                     {"CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned", 1, MemoryKind::kPinned},
                     {"CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device", 2, MemoryKind::kDevice},
                     {"CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array", 3, MemoryKind::kArray},
                     {"CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed", 4, MemoryKind::kManaged},
                     {"CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static", 5, MemoryKind::kDeviceStatic},
                     {"CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static", 6, MemoryKind::kManagedStatic}},
                    MemoryKind::kUnknown) {}

void NsysDeviceWork::read() {
  read_copies();
  read_memsets();
  read_kernels();
  read_graphs();
  read_faults();
  read_graph_nodes();
}

std::optional<NsysDeviceWork::Work> NsysDeviceWork::work_of(SqliteRow& row) {
  const auto start_ns = export_.time_ns(row, row.needed_integer(0));
  const auto end_ns = export_.time_ns(row, row.needed_integer(1));
  const auto process = row.integer(2);
  Work work{.process = nullptr,
            .start_ns = start_ns.value_or(0),
            .end_ns = end_ns.value_or(0),
            .device = id_or_unknown(row.integer(3)),
            .context = id_or_unknown(row.integer(4)),
            .stream = id_or_unknown(row.integer(5)),
            .correlation = id_or_unknown(row.integer(6))};
  if (work.correlation == trace::kUnknownId) work.correlation = 0;
  // Without a process, the work is that of the only one.
  auto& processes = export_.processes;
  if (!process && processes.all().size() != 1) row.set_unreadable();
  if (!row.is_readable()) return std::nullopt;
  work.process = process ? &processes.get(process_of(*process)) : &processes.all().front();
  if (work.device != trace::kUnknownId) work.process->devices.insert(work.device);
  if (work.end_ns < work.start_ns) {
    work.start_ns = work.end_ns = trace::kUnknownTime;
    work.process->count(trace::Loss::kInvalidDeviceTimes);
  }
  return work;
}

template <typename Record>
Record NsysDeviceWork::record_of(trace::RecordKind kind, const Work& work) {
  auto record = trace::make_record<Record>(kind);
  record.device = work.device;
  record.start_ns = work.start_ns;
  record.end_ns = work.end_ns;
  if constexpr (requires { record.correlation; }) {
    record.correlation = work.correlation;
    record.context = work.context;
    record.stream = work.stream;
  }
  return record;
}

MemoryKind NsysDeviceWork::memory_kind(SqliteRow& row, std::size_t column) {
  const auto number = row.integer(column);
  return number ? memory_kinds_.of(*number) : MemoryKind::kUnknown;
}

void NsysDeviceWork::read_copies() {
  export_.scan("CUPTI_ACTIVITY_KIND_MEMCPY",
               {TURNPIKE_WORK_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId",
                "graphNodeId", "virtualAddress", "copyCount"},
               kNeeded, [this](SqliteRow& row) { read_copy(row); });
}

void NsysDeviceWork::read_copy(SqliteRow& row) {
  const std::int64_t bytes = row.needed_integer(kFirstOwn);
  if (bytes < 0) row.set_unreadable();
  const Operation operation = operations_.of(row.needed_integer(kFirstOwn + 1));
  const MemoryKind src_kind = memory_kind(row, kFirstOwn + 2);
  const MemoryKind dst_kind = memory_kind(row, kFirstOwn + 3);
  const std::uint32_t src_device = id_or_unknown(row.integer(kFirstOwn + 4));
  const std::uint32_t dst_device = id_or_unknown(row.integer(kFirstOwn + 5));
  const std::uint64_t node = node_of(row.integer(kFirstOwn + 6));
  const auto address = row.integer(kFirstOwn + 7);
  const std::uint32_t copy_count = id_or_unknown(row.integer(kFirstOwn + 8));
  const auto work = work_of(row);
  if (!work) return;
  if (operation.is_migration) {
    auto record = record_of<trace::MigrationRecord>(trace::RecordKind::kMigration, *work);
    record.bytes = static_cast<std::uint64_t>(bytes);
    record.address = static_cast<std::uint64_t>(address.value_or(0));
    record.kind = operation.migration;
    work->process->sink.on(record);
    return;
  }
  auto record = record_of<trace::MemcpyRecord>(trace::RecordKind::kMemcpy, *work);
  record.bytes = static_cast<std::uint64_t>(bytes);
  record.copy_kind = operation.copy;
  record.src_kind = src_kind;
  record.dst_kind = dst_kind;
  record.is_async = calls_.is_async(work->process->key, work->correlation) ? 1 : 0;
  record.src_device = src_device;
  record.dst_device = dst_device;
  record.graph_node = node;
  record.copy_count = copy_count == trace::kUnknownId || copy_count == 0 ? 1 : copy_count;
  work->process->sink.on(record);
}

void NsysDeviceWork::read_memsets() {
  export_.scan("CUPTI_ACTIVITY_KIND_MEMSET", {TURNPIKE_WORK_COLUMNS, "bytes", "value", "memKind", "graphNodeId"},
               kNeeded, [this](SqliteRow& row) {
                 const std::int64_t bytes = row.needed_integer(kFirstOwn);
                 if (bytes < 0) row.set_unreadable();
                 const auto value = row.integer(kFirstOwn + 1);
                 const MemoryKind kind = memory_kind(row, kFirstOwn + 2);
                 const std::uint64_t node = node_of(row.integer(kFirstOwn + 3));
                 const auto work = work_of(row);
                 if (!work) return;
                 auto record = record_of<trace::MemsetRecord>(trace::RecordKind::kMemset, *work);
                 record.bytes = static_cast<std::uint64_t>(bytes);
                 record.value = static_cast<std::uint32_t>(value.value_or(0));
                 record.memory_kind = kind;
                 record.graph_node = node;
                 work->process->sink.on(record);
               });
}

void NsysDeviceWork::read_kernels() {
  export_.scan("CUPTI_ACTIVITY_KIND_KERNEL",
               {TURNPIKE_WORK_COLUMNS, "mangledName", "demangledName", "shortName", "graphNodeId", "graphId"}, kNeeded,
               [this](SqliteRow& row) {
                 auto name = row.integer(kFirstOwn);
                 if (!name) name = row.integer(kFirstOwn + 1);
                 if (!name) name = row.integer(kFirstOwn + 2);
                 const std::uint64_t node = node_of(row.integer(kFirstOwn + 3));
                 const std::uint32_t graph = id_or_unknown(row.integer(kFirstOwn + 4));
                 const auto work = work_of(row);
                 if (!work) return;
                 auto record = record_of<trace::KernelRecord>(trace::RecordKind::kKernel, *work);
                 record.name = name ? work->process->use(export_.names.of_string_id(*name)) : trace::kNoId;
                 record.graph_node = node;
                 record.graph = graph == trace::kUnknownId ? 0 : graph;
                 work->process->sink.on(record);
               });
}

// By default Nsight Systems records a whole graph as one piece. It is given as one kernel, because the device was busy
// meanwhile; which copies were in it is unknown, and said to be.
void NsysDeviceWork::read_graphs() {
  const std::uint32_t name = export_.names.intern("CUDA graph");
  export_.scan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {TURNPIKE_WORK_COLUMNS, "graphId"}, kNeeded, [&](SqliteRow& row) {
    const std::uint32_t graph = id_or_unknown(row.integer(kFirstOwn));
    const auto work = work_of(row);
    if (!work) return;
    auto record = record_of<trace::KernelRecord>(trace::RecordKind::kKernel, *work);
    record.name = work->process->use(name);
    record.graph = graph == trace::kUnknownId ? 0 : graph;
    work->process->sink.on(record);
    work->process->count(trace::Loss::kHiddenGraphCopies);
  });
}

// Page faults of managed memory. What moved because of them stands among the copies.
void NsysDeviceWork::read_faults() {
  const auto give = [this](SqliteRow& row, std::optional<std::int64_t> end, std::uint32_t device) {
    const auto start_ns = export_.time_ns(row, row.needed_integer(0));
    const auto end_ns = export_.time_ns(row, end);
    const std::int64_t process = row.needed_integer(1);
    const auto address = row.integer(2);
    if (!row.is_readable() || !start_ns) return;
    auto record = trace::make_record<trace::MigrationRecord>(trace::RecordKind::kMigration);
    record.device = device;
    record.start_ns = *start_ns;
    record.end_ns = end_ns.value_or(*start_ns);
    record.bytes = trace::kUnknownSize;
    record.address = static_cast<std::uint64_t>(address.value_or(0));
    record.kind = MigrationKind::kFault;
    export_.processes.get(process_of(process)).sink.on(record);
  };
  export_.scan("CUDA_UM_CPU_PAGE_FAULT_EVENTS", {"start", "globalPid", "address"}, 2,
               [&](SqliteRow& row) { give(row, std::nullopt, trace::kUnknownId); });
  export_.scan("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {"start", "globalPid", "address", "end", "deviceId"}, 2,
               [&](SqliteRow& row) { give(row, row.integer(3), id_or_unknown(row.integer(4))); });
}

// Where nodes of graphs were made, as far as operators tell. Only rows of creation and of cloning name a node.
void NsysDeviceWork::read_graph_nodes() {
  export_.scan("CUDA_GRAPH_NODE_EVENTS", {"start", "globalTid", "graphNodeId", "originalGraphNodeId"}, 3,
               [this](SqliteRow& row) {
                 const auto start_ns = export_.time_ns(row, row.needed_integer(0));
                 const std::int64_t thread = row.needed_integer(1);
                 const std::int64_t node = row.needed_integer(2);
                 const auto original = row.integer(3);
                 if (!row.is_readable() || !start_ns) return;
                 NsysProcess& process = export_.processes.get(process_of(thread));
                 auto record = trace::make_record<trace::GraphNodeRecord>(trace::RecordKind::kGraphNode);
                 record.node = node_of(node);
                 record.cloned_from = node_of(original);
                 if (!original || *original == 0) {
                   record.stack =
                       stacks_.stack_of(process, std::nullopt, ranges_.operators_at(thread, *start_ns).chain);
                 }
                 process.sink.on(record);
               });
}

#undef TURNPIKE_WORK_COLUMNS

}  // namespace turnpike::ingest
