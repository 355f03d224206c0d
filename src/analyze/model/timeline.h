// The records of one process as the analysis keeps them: sorted by time, device work joined to the calls that caused
// it. Memory: 96 bytes for each call, 56 for each transfer, 40 for each kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/report.h"
#include "trace/format.h"
#include "trace/record_sink.h"

namespace turnpike::analyze {

// An index into a vector of the timeline that points at nothing.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Whether both ends are known and in order.
constexpr bool has_times(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns != trace::kUnknownTime && end_ns != trace::kUnknownTime && end_ns >= start_ns;
}

struct Call {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint64_t autograd_sequence;
  std::uint32_t thread;
  std::uint32_t correlation;
  std::uint32_t stack;
  std::uint32_t name;
  std::uint32_t context;
  std::uint32_t device;  // of the call, else of its context as far as device work tells; kUnknownId
  std::uint32_t stream;  // that it names and that is no device work's: of a wait, an event; kUnknownId
  std::int32_t result;
  std::uint64_t bytes;  // as in trace::CallRecord, like the three below
  std::uint64_t dst;
  std::uint64_t src;
  std::uint64_t object;
  trace::CallKind kind;
  trace::AutogradRole autograd_role;
  bool must_copy;  // asked the device for a copy of at least a byte, and not to capture one
  bool must_run;   // launched a kernel or a graph, and not to capture it

  bool has_times() const { return analyze::has_times(start_ns, end_ns); }
  std::int64_t duration_ns() const { return end_ns - start_ns; }
};

// A copy, a memset or a migration of managed memory.
struct Transfer {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint64_t bytes;
  std::uint64_t graph_node;  // 0 outside graphs
  std::uint32_t correlation;
  std::uint32_t call;  // index of the call that caused it; kNone
  std::uint32_t device;
  std::uint32_t stream;  // kUnknownId for a migration
  std::uint32_t count;   // copies that it stands for
  Direction direction;
  trace::MemoryKind src_kind;  // kUnknown for a memset
  trace::MemoryKind dst_kind;
  // One byte for both. `is_async`: CUPTI's flag of a copy; false for a memset or a migration.
  bool is_migration : 1;
  bool is_async : 1;

  bool has_times() const { return analyze::has_times(start_ns, end_ns); }
  std::int64_t duration_ns() const { return end_ns - start_ns; }
};

struct Kernel {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t correlation;
  std::uint32_t call;  // index of the call that launched it; kNone
  std::uint32_t name;  // string id
  bool is_in_graph;

  bool has_times() const { return analyze::has_times(start_ns, end_ns); }
  std::int64_t duration_ns() const { return end_ns - start_ns; }
};

struct Range {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t name;
  std::uint32_t thread;
  std::uint32_t domain;  // string id; kNoId: the default domain
};

struct GraphNode {
  std::uint32_t stack;
  std::uint64_t cloned_from;
};

struct Timeline {
  std::optional<Interval> span;     // from the first to the last moment of a call or of device work that has times
  std::vector<Call> calls;          // by start
  std::vector<Transfer> transfers;  // by start; unknown times first
  std::vector<Kernel> kernels;      // by start; unknown times first
  std::vector<Range> ranges;        // by start; no marks
  // Calls that must run something, of which there is no record; by start. None where kernels lack their calls: these
  // may be theirs.
  std::vector<std::uint32_t> lost_launches;
  std::vector<trace::DeviceRecord> devices;
  std::set<std::pair<std::uint32_t, std::uint32_t>> default_streams;  // device and stream, where the source names them
  std::unordered_map<std::uint32_t, std::uint32_t> thread_names;      // thread -> string id; the last one given
  std::unordered_map<std::uint64_t, GraphNode> graph_nodes;           // the last of each address
  std::unordered_set<std::uint32_t> other_names;                      // string ids that no other member holds
  std::vector<trace::ContentRecord> contents;                         // by correlation
  std::vector<trace::MemoryRecord> memory;                            // by time
  std::vector<trace::SampleRecord> samples;                           // by thread, then time
  std::uint64_t unmatched_count = 0;                                  // device records without their call
  std::uint64_t missing_count = 0;                                    // calls that must copy, without a device record
  std::uint64_t unclassified_count = 0;                               // copies whose direction cannot be told

  // The stack that captured a node of a CUDA graph, through its clones; kNoId when it is not known.
  std::uint32_t captured_stack(std::uint64_t node) const;
};

// Fills a timeline from one process's records, in any order. Not safe for several threads.
class TimelineLoader final : public trace::RecordSink {
 public:
  void on(const trace::CallRecord& record) override;
  void on(const trace::MemcpyRecord& record) override;
  void on(const trace::MemsetRecord& record) override;
  void on(const trace::KernelRecord& record) override;
  void on(const trace::RangeRecord& record) override;
  void on(const trace::DeviceRecord& record) override;
  void on(const trace::ThreadRecord& record) override;
  void on(const trace::StreamRecord& record) override;
  void on(const trace::MigrationRecord& record) override;
  void on(const trace::GraphNodeRecord& record) override;
  void on(const trace::ContentRecord& record) override;
  void on(const trace::MemoryRecord& record) override;
  void on(const trace::SampleRecord& record) override;

  // Reserves memory for the whole source, of which `share_read` has been read, assuming that the rest looks the same.
  // Without this, growing vectors move all records again and again. Does nothing where memory is short.
  void make_room(double share_read);
  // Sorts and joins what was received. The loader is empty afterwards.
  Timeline take();

 private:
  void learn_device(std::uint32_t context, std::uint32_t device);

  Timeline timeline_;
  std::unordered_map<std::uint32_t, std::uint32_t> device_of_context_;
};

}  // namespace turnpike::analyze
