// What a trace of torch.profiler holds, kept until the end of the file, then joined and given out as records.
//
// Nothing can be given out earlier: the start of the clock may stand behind the events, a copy before its call, and an
// operator behind the calls inside of it. Memory, beside the names: 24 bytes for each operator and function of Python,
// 40 for each call, 56 for each kernel, 72 for each copy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/kineto/event.h"
#include "ingest/kineto/name_table.h"
#include "ingest/kineto/stacks.h"
#include "trace/losses.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::ingest {

class KinetoRecords {
 public:
  void add(const KinetoEvent& event);
  void add_device(std::uint32_t device, std::string_view name, std::int64_t multiprocessors, std::int64_t memory_bytes);
  // The moment from which all times of the file count; 0 in files whose times are of the epoch.
  void set_base_time(std::int64_t base_ns) { base_ns_ = base_ns; }

  // Whether any event was one of torch.profiler's.
  bool has_known_events() const { return known_count_ > 0; }

  // Gives everything to the sink and what it refers to to the process. Call it once.
  void finish(trace::Process& process, trace::RecordSink& sink);

 private:
  struct Call {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint32_t thread;
    std::uint32_t correlation;
    std::uint32_t name;
    trace::CallKind kind;
    trace::Api api;
  };
  struct Thread {
    std::vector<HostSpan> spans;
    std::vector<std::int64_t> node_starts_ns;  // where operators started that a node of autograd remembers
    std::vector<Call> calls;
  };
  // What only some calls have, by their correlation.
  struct CallExtra {
    std::uint32_t stream = trace::kUnknownId;
    std::uint32_t context = trace::kUnknownId;
    std::uint32_t device = trace::kUnknownId;
    std::uint64_t object = 0;
    std::uint64_t bytes = trace::kUnknownSize;
  };
  struct DeviceWork {
    std::uint32_t correlation;
    trace::CallKind kind;  // of a call that causes such work
  };
  struct ThreadName {
    std::int64_t pid;
    std::uint32_t thread;
    std::uint32_t name;
  };

  // Of the host
  void add_span(const KinetoEvent& event);
  void add_annotation(const KinetoEvent& event);
  void add_call(const KinetoEvent& event);
  void add_synchronisation(const KinetoEvent& event);
  void add_node_start(const KinetoEvent& event);
  void add_thread_name(const KinetoEvent& event);
  // Of the devices
  void add_memcpy(const KinetoEvent& event);
  void add_memset(const KinetoEvent& event);
  void add_kernel(const KinetoEvent& event);

  Thread& thread_of(const KinetoEvent& event);
  // The number of a name that records will refer to.
  std::uint32_t string_of(const JsonValue& name);
  std::uint32_t frame_of(const JsonValue& name, bool is_operator);
  std::uint32_t mark_of(const KinetoEvent& event);
  std::uint32_t correlation_of(const KinetoEvent& event);
  std::int64_t at_base(std::int64_t time_ns) const;
  void count_loss(trace::Loss loss, std::uint64_t count = 1) { losses_[static_cast<std::uint32_t>(loss)] += count; }

  void name_calls_by_effect();
  // Whether a stream was being captured into a graph then.
  bool is_capturing(std::int64_t time_ns) const;
  void drop_calls_inside_of_others(Thread& thread) const;
  void apply_node_starts(Thread& thread);
  void emit_devices(trace::RecordSink& sink) const;
  void emit_device_work(trace::RecordSink& sink);
  void emit_thread(std::uint32_t id, Thread& thread, std::int64_t pitch_ns, trace::RecordSink& sink);
  void emit_call(std::uint32_t thread, const Call& call, OpenSpans& open, trace::RecordSink& sink);
  std::int64_t sample_pitch_ns() const;
  template <typename Record>
  void set_device_fields(Record& record, const KinetoEvent& event, trace::CallKind kind);
  std::uint64_t size_of(const KinetoEvent& event) const;
  void settle_copies();
  void write_definitions(trace::Process& process);

  NameTable names_;
  std::vector<bool> is_string_;                        // by number of name: whether records refer to it
  std::vector<std::uint32_t> frame_of_name_;           // by number of name: frames of Python; 0: none yet
  std::vector<std::uint32_t> operator_frame_of_name_;  // of operators
  std::vector<trace::Frame> frames_;                   // by id - 1
  std::vector<AutogradMark> marks_;
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::unordered_map<std::uint32_t, CallExtra> extras_;
  std::vector<ThreadName> thread_names_;
  std::vector<trace::RangeRecord> ranges_;
  std::vector<trace::MemcpyRecord> copies_;
  std::vector<trace::MemsetRecord> memsets_;
  std::vector<trace::KernelRecord> kernels_;
  std::vector<trace::DeviceRecord> devices_;
  std::vector<DeviceWork> work_;
  std::vector<std::pair<std::int64_t, int>> captures_;  // when a capture began (+1) or ended (-1)
  StackTree tree_;
  Thread* last_thread_ = nullptr;
  std::uint32_t last_thread_id_ = 0;
  std::int64_t pid_ = kAbsent;
  std::set<std::int64_t> callers_;  // processes that called CUDA: more than one where somebody merged files
  std::int64_t base_ns_ = 0;
  std::uint64_t known_count_ = 0;
  std::uint32_t next_unknown_correlation_ = trace::kUnknownId;
  std::map<std::uint32_t, std::uint64_t> losses_;
};

}  // namespace turnpike::ingest
