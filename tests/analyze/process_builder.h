// Makes the records of a process by hand: names and stacks are interned, and what a test leaves out has a harmless
// value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "analyze/analyze.h"

namespace turnpike::analyze {

inline constexpr std::uint32_t kMainThread = 100;
inline constexpr std::uint32_t kDefaultStream = 7;

struct CallSpec {
  trace::CallKind kind = trace::CallKind::kCopy;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t stack = trace::kNoId;
  std::string name = "cudaMemcpyAsync";
  std::uint32_t thread = kMainThread;
  std::uint32_t device = trace::kUnknownId;
  std::uint32_t context = 1;
  trace::AutogradRole role = trace::AutogradRole::kUnknown;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::int32_t result = 0;
  bool is_captured = false;
  std::uint64_t dst = 0;
  std::uint64_t src = 0;
  std::uint64_t object = 0;
  std::uint32_t stream = 0;  // that a wait or an event names
};

struct CopySpec {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint64_t bytes = 0;
  trace::CopyKind kind = trace::CopyKind::kHostToDevice;
  trace::MemoryKind src = trace::MemoryKind::kPinned;
  trace::MemoryKind dst = trace::MemoryKind::kDevice;
  std::uint32_t device = 0;
  std::uint32_t stream = kDefaultStream;
  std::uint32_t src_device = trace::kUnknownId;
  std::uint32_t dst_device = trace::kUnknownId;
  std::uint32_t count = 1;
  std::uint64_t graph_node = 0;
  bool is_async = false;
};

struct KernelSpec {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::string name = "_Z6kernelv";
};

class ProcessBuilder {
 public:
  explicit ProcessBuilder(const std::string& detail = "full") { process_.metadata["detail"] = detail; }

  trace::Process& process() { return process_; }
  TimelineLoader& loader() { return loader_; }

  std::uint32_t string(const std::string& text) {
    if (text.empty()) return trace::kNoId;
    const auto [entry, is_new] = strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size() + 1));
    if (is_new) process_.strings[entry->second] = text;
    return entry->second;
  }
  std::uint32_t python(const std::string& function, const std::string& file, std::uint32_t line) {
    return frame({.kind = trace::FrameKind::kPython, .function = function, .file = file, .line = line});
  }
  std::uint32_t native(const std::string& symbol, const std::string& module) {
    return frame({.kind = trace::FrameKind::kNative, .function = symbol, .file = module});
  }
  // An operator's frame: at::_ops::STRUCTURE::call.
  std::uint32_t op(const std::string& structure) {
    return native("_ZN2at4_ops" + std::to_string(structure.size()) + structure + "4callERKNS_6TensorE",
                  "/lib/libtorch_cpu.so");
  }
  // Innermost first.
  std::uint32_t stack(const std::vector<std::uint32_t>& frames) {
    const auto id = static_cast<std::uint32_t>(process_.stacks.size() + 1);
    process_.stacks.set(id, frames);
    return id;
  }
  // One line of Python.
  std::uint32_t line(const std::string& file, std::uint32_t number) { return stack({python("main", file, number)}); }

  void call(const CallSpec& spec) {
    trace::CallRecord record{};
    record.kind = spec.kind;
    record.start_ns = spec.start_ns;
    record.end_ns = spec.end_ns;
    record.correlation = spec.correlation;
    record.stack = spec.stack;
    record.name = string(spec.name);
    record.thread = spec.thread;
    record.device = spec.device;
    record.context = spec.context;
    record.autograd_role = spec.role;
    record.autograd_sequence = spec.sequence;
    record.bytes = spec.bytes;
    record.result = spec.result;
    record.is_captured = spec.is_captured ? 1 : 0;
    record.dst = spec.dst;
    record.src = spec.src;
    record.object = spec.object;
    record.stream = spec.stream;
    loader_.on(record);
  }
  void copy(const CopySpec& spec) {
    trace::MemcpyRecord record{};
    record.start_ns = spec.start_ns;
    record.end_ns = spec.end_ns;
    record.correlation = spec.correlation;
    record.bytes = spec.bytes;
    record.copy_kind = spec.kind;
    record.src_kind = spec.src;
    record.dst_kind = spec.dst;
    record.device = spec.device;
    record.context = spec.device + 1;
    record.stream = spec.stream;
    record.src_device = spec.src_device;
    record.dst_device = spec.dst_device;
    record.copy_count = spec.count;
    record.graph_node = spec.graph_node;
    record.is_async = spec.is_async ? 1 : 0;
    loader_.on(record);
  }
  void kernel(const KernelSpec& spec) {
    trace::KernelRecord record{};
    record.start_ns = spec.start_ns;
    record.end_ns = spec.end_ns;
    record.correlation = spec.correlation;
    record.device = spec.device;
    record.context = spec.device + 1;
    record.stream = spec.stream;
    record.name = string(spec.name);
    loader_.on(record);
  }
  void memset(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation, std::uint64_t bytes,
              trace::MemoryKind kind = trace::MemoryKind::kDevice, std::uint32_t device = 0) {
    trace::MemsetRecord record{};
    record.device = device;
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.correlation = correlation;
    record.bytes = bytes;
    record.context = device + 1;
    record.stream = kDefaultStream;
    record.memory_kind = kind;
    loader_.on(record);
  }
  void migration(trace::MigrationKind kind, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes,
                 std::uint32_t device = 0) {
    trace::MigrationRecord record{};
    record.device = device;
    record.kind = kind;
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.bytes = bytes;
    loader_.on(record);
  }
  // What stood in the host memory of a copy. `hashed_bytes`: 0 for all of it.
  void content(std::uint32_t correlation, trace::ContentSide side, std::uint64_t hash, std::uint64_t bytes,
               std::uint64_t hashed_bytes = 0) {
    trace::ContentRecord record{};
    record.correlation = correlation;
    record.side = side;
    record.hash = hash;
    record.bytes = bytes;
    record.hashed_bytes = hashed_bytes == 0 ? bytes : hashed_bytes;
    loader_.on(record);
  }
  // What the system counted of the process's memory.
  void resident(std::int64_t time_ns, std::uint64_t bytes) {
    trace::MemoryRecord record{};
    record.time_ns = time_ns;
    record.resident_bytes = bytes;
    loader_.on(record);
  }
  // Where a thread was.
  void sample(std::int64_t time_ns, std::uint32_t stack, std::uint32_t thread = kMainThread) {
    trace::SampleRecord record{};
    record.thread = thread;
    record.time_ns = time_ns;
    record.stack = stack;
    loader_.on(record);
  }
  void range(const std::string& name, std::int64_t start_ns, std::int64_t end_ns, const std::string& domain = "",
             std::uint32_t thread = kMainThread) {
    trace::RangeRecord record{};
    record.thread = thread;
    record.end_thread = thread;
    record.domain = domain.empty() ? trace::kNoId : string(domain);
    record.name = string(name);
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    loader_.on(record);
  }
  void default_stream(std::uint32_t device, std::uint32_t stream) {
    trace::StreamRecord record{};
    record.device = device;
    record.context = device + 1;
    record.stream = stream;
    record.is_default = 1;
    loader_.on(record);
  }
  // An operator, as a source names it that knows no native frames.
  std::uint32_t operator_frame(const std::string& name) {
    return frame({.kind = trace::FrameKind::kOperator, .function = name, .file = ""});
  }
  void device(std::uint32_t id, const std::string& name, std::uint64_t memory_bytes = 0,
              int numa_node = trace::kUnknownNode) {
    trace::DeviceRecord record{};
    record.device = id;
    record.numa_node = static_cast<std::uint16_t>(numa_node);
    record.memory_bytes = memory_bytes;
    record.name = string(name);
    loader_.on(record);
  }
  void thread(std::uint32_t id, const std::string& name) {
    trace::ThreadRecord record{};
    record.thread = id;
    record.name = string(name);
    loader_.on(record);
  }
  void graph_node(std::uint64_t node, std::uint32_t stack, std::uint64_t cloned_from) {
    trace::GraphNodeRecord record{};
    record.node = node;
    record.stack = stack;
    record.cloned_from = cloned_from;
    loader_.on(record);
  }

  LoadedProcess take() { return {std::move(process_), loader_.take()}; }
  Report report() {
    const LoadedProcess processes[] = {take()};
    return analyze_processes(processes);
  }

 private:
  std::uint32_t frame(trace::Frame frame) {
    const auto id = static_cast<std::uint32_t>(process_.frames.size() + 1);
    process_.frames[id] = std::move(frame);
    return id;
  }

  trace::Process process_;
  TimelineLoader loader_;
  std::map<std::string, std::uint32_t> strings_;
};

}  // namespace turnpike::analyze
