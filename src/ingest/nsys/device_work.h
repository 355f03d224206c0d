// What the devices of an export did: copies, memsets, kernels, graphs, and managed memory that moved.
#pragma once

#include "ingest/nsys/calls.h"
#include "ingest/nsys/enums.h"
#include "ingest/nsys/export.h"
#include "ingest/nsys/ranges.h"
#include "ingest/nsys/stacks.h"

namespace turnpike::ingest {

class NsysDeviceWork {
 public:
  // Keeps the references. The calls must have been read.
  NsysDeviceWork(NsysExport& from, NsysStacks& stacks, const NsysRanges& ranges, const NsysCalls& calls);

  void read();

 private:
  // The columns that all kinds of device work have, in this order.
  struct Work {
    NsysProcess* process;
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
  };
  // What Nsight Systems says of a copy: CUPTI's kind, or that managed memory moved.
  struct Operation {
    trace::CopyKind copy;
    bool is_migration;
    trace::MigrationKind migration;
  };

  std::optional<Work> work_of(SqliteRow& row);
  template <typename Record>
  static Record record_of(trace::RecordKind kind, const Work& work);
  trace::MemoryKind memory_kind(SqliteRow& row, std::size_t column);

  void read_copies();
  void read_copy(SqliteRow& row);
  void read_memsets();
  void read_kernels();
  void read_graphs();
  void read_faults();
  void read_graph_nodes();

  NsysExport& export_;
  NsysStacks& stacks_;
  const NsysRanges& ranges_;
  const NsysCalls& calls_;
  NsysEnum<Operation> operations_;
  NsysEnum<trace::MemoryKind> memory_kinds_;
};

}  // namespace turnpike::ingest
