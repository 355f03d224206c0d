// One function per kind of line. Fields are always there and in the same order, so that lines can be compared as text.
#include "report/dump/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "report/dump/quote.h"
#include "trace/losses.h"
#include "trace/reader.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kFlushBytes = 64u << 10;

constexpr std::array<std::string_view, 23> kKinds = {
    "process", "metadata",  "string",     "frame",   "stack",  "source", "clock",       "loss",
    "end",     "call",      "memcpy",     "memset",  "kernel", "range",  "device",      "thread",
    "stream",  "migration", "graph_node", "content", "memory", "sample", "link_traffic"};

constexpr std::string_view kCallKinds[] = {
    "other",         "copy",         "memset",      "synchronize", "launch",    "graph_launch",  "event_record",
    "stream_wait",   "device_alloc", "device_free", "host_alloc",  "host_free", "host_register", "host_unregister",
    "managed_alloc", "prefetch"};
constexpr std::string_view kApis[] = {"unknown", "runtime", "driver"};
constexpr std::string_view kAutogradRoles[] = {"unknown", "forward", "backward"};
constexpr std::string_view kCopyKinds[] = {"unknown", "h2d", "d2h", "h2a", "a2h", "a2a",
                                           "a2d",     "d2a", "d2d", "h2h", "p2p"};
constexpr std::string_view kMemoryKinds[] = {"unknown", "pageable", "pinned",        "device",
                                             "array",   "managed",  "device_static", "managed_static"};
constexpr std::string_view kMigrationKinds[] = {"unknown", "h2d", "d2h", "d2d", "fault"};
constexpr std::string_view kFrameKinds[] = {"unknown", "python", "native", "operator"};
constexpr std::string_view kContentSides[] = {"unknown", "source", "destination"};

// Gathers lines and hands them to the output in large pieces.
class Lines {
 public:
  explicit Lines(std::FILE* out) : out_(out) {}

  Lines& start(std::string_view kind) {
    append(kind);
    return *this;
  }
  Lines& number(std::string_view name, std::int64_t value) {
    fmt::format_to(field(name), "{}", value);
    return *this;
  }
  Lines& count(std::string_view name, std::uint64_t value) {
    fmt::format_to(field(name), "{}", value);
    return *this;
  }
  Lines& id(std::string_view name, std::uint32_t value) {
    return value == trace::kUnknownId ? word(name, "unknown") : count(name, value);
  }
  Lines& time(std::string_view name, std::int64_t value) {
    return value == trace::kUnknownTime ? word(name, "unknown") : number(name, value);
  }
  Lines& size(std::string_view name, std::uint64_t value) {
    return value == trace::kUnknownSize ? word(name, "unknown") : count(name, value);
  }
  Lines& address(std::string_view name, std::uint64_t value) {
    fmt::format_to(field(name), "{:#x}", value);
    return *this;
  }
  Lines& word(std::string_view name, std::string_view value) {
    field(name);
    append(value);
    return *this;
  }
  Lines& text(std::string_view name, std::string_view value) { return word(name, quoted(value)); }
  // The name of an enumerator; its number when this version has no name for it.
  template <typename Enum, std::size_t kCount>
  Lines& choice(std::string_view name, Enum value, const std::string_view (&names)[kCount]) {
    const auto index = static_cast<std::size_t>(value);
    return index < kCount ? word(name, names[index]) : count(name, index);
  }
  void finish() {
    buffer_.push_back('\n');
    if (buffer_.size() >= kFlushBytes) flush();
  }

  // 0, or why the output could not take everything.
  int close() {
    flush();
    if (error_ == 0 && std::fflush(out_) != 0) error_ = errno;
    return error_;
  }

 private:
  void append(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  std::back_insert_iterator<fmt::memory_buffer> field(std::string_view name) {
    buffer_.push_back(' ');
    append(name);
    buffer_.push_back('=');
    return std::back_inserter(buffer_);
  }
  void flush() {
    if (error_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), out_) != buffer_.size()) error_ = errno;
    buffer_.clear();
  }

  std::FILE* out_;
  fmt::memory_buffer buffer_;
  int error_ = 0;
};

class RecordPrinter : public trace::RecordSink {
 public:
  RecordPrinter(const trace::Process& process, const std::set<std::string, std::less<>>& kinds, Lines& lines)
      : process_(process), lines_(lines) {
    const auto wants = [&](std::string_view kind) { return kinds.empty() || kinds.contains(kind); };
    wants_call_ = wants("call");
    wants_memcpy_ = wants("memcpy");
    wants_memset_ = wants("memset");
    wants_kernel_ = wants("kernel");
    wants_range_ = wants("range");
    wants_device_ = wants("device");
    wants_thread_ = wants("thread");
    wants_stream_ = wants("stream");
    wants_migration_ = wants("migration");
    wants_graph_node_ = wants("graph_node");
    wants_content_ = wants("content");
    wants_memory_ = wants("memory");
    wants_sample_ = wants("sample");
    wants_link_traffic_ = wants("link_traffic");
  }

  void on(const trace::CallRecord& call) override {
    if (!wants_call_) return;
    lines_.start("call").id("thread", call.thread).time("start", call.start_ns).time("end", call.end_ns);
    lines_.id("correlation", call.correlation).text("name", process_.string(call.name));
    lines_.choice("kind", call.kind, kCallKinds).choice("api", call.api, kApis).number("result", call.result);
    lines_.id("device", call.device).id("context", call.context).id("stream", call.stream).size("bytes", call.bytes);
    lines_.address("dst", call.dst).address("src", call.src).address("object", call.object);
    lines_.count("captured", call.is_captured);
    lines_.choice("autograd", call.autograd_role, kAutogradRoles);
    if (call.autograd_role == trace::AutogradRole::kUnknown) {
      lines_.word("autograd_sequence", "unknown");
    } else {
      lines_.count("autograd_sequence", call.autograd_sequence);
    }
    place(call.stack);
    lines_.finish();
  }
  void on(const trace::MemcpyRecord& copy) override {
    if (!wants_memcpy_) return;
    work("memcpy", copy);
    lines_.size("bytes", copy.bytes).choice("kind", copy.copy_kind, kCopyKinds);
    lines_.choice("src", copy.src_kind, kMemoryKinds).choice("dst", copy.dst_kind, kMemoryKinds);
    lines_.count("async", copy.is_async).id("src_device", copy.src_device).id("dst_device", copy.dst_device);
    lines_.count("copies", copy.copy_count).count("graph", copy.graph).count("graph_node", copy.graph_node);
    lines_.finish();
  }
  void on(const trace::MemsetRecord& set) override {
    if (!wants_memset_) return;
    work("memset", set);
    lines_.size("bytes", set.bytes).count("value", set.value).choice("memory", set.memory_kind, kMemoryKinds);
    lines_.count("graph_node", set.graph_node).finish();
  }
  void on(const trace::KernelRecord& kernel) override {
    if (!wants_kernel_) return;
    work("kernel", kernel);
    lines_.text("name", process_.string(kernel.name)).count("graph", kernel.graph);
    lines_.count("graph_node", kernel.graph_node).finish();
  }
  void on(const trace::RangeRecord& range) override {
    if (!wants_range_) return;
    lines_.start("range").id("thread", range.thread).id("end_thread", range.end_thread);
    lines_.time("start", range.start_ns).time("end", range.end_ns).text("name", process_.string(range.name));
    lines_.text("domain", process_.string(range.domain)).address("color", range.color).finish();
  }
  void on(const trace::DeviceRecord& device) override {
    if (!wants_device_) return;
    lines_.start("device").id("device", device.device).text("name", process_.string(device.name));
    lines_.count("multiprocessors", device.multiprocessors).size("memory_bytes", device.memory_bytes);
    lines_.word("pci", fmt::format("{:04x}:{:02x}:{:02x}", device.pci_domain, device.pci_bus, device.pci_device));
    lines_.id("numa_node", device.numa_node == trace::kUnknownNode ? trace::kUnknownId : device.numa_node).finish();
  }
  void on(const trace::ThreadRecord& thread) override {
    if (!wants_thread_) return;
    lines_.start("thread").id("thread", thread.thread).text("name", process_.string(thread.name)).finish();
  }
  void on(const trace::StreamRecord& stream) override {
    if (!wants_stream_) return;
    lines_.start("stream").id("device", stream.device).id("context", stream.context).id("stream", stream.stream);
    lines_.text("name", process_.string(stream.name)).count("default", stream.is_default).finish();
  }
  void on(const trace::MigrationRecord& migration) override {
    if (!wants_migration_) return;
    lines_.start("migration").id("device", migration.device).time("start", migration.start_ns);
    lines_.time("end", migration.end_ns).size("bytes", migration.bytes).address("address", migration.address);
    lines_.choice("kind", migration.kind, kMigrationKinds).finish();
  }
  void on(const trace::GraphNodeRecord& node) override {
    if (!wants_graph_node_) return;
    lines_.start("graph_node").count("node", node.node).count("cloned_from", node.cloned_from);
    place(node.stack);
    lines_.finish();
  }
  void on(const trace::ContentRecord& content) override {
    if (!wants_content_) return;
    lines_.start("content").id("correlation", content.correlation).choice("side", content.side, kContentSides);
    lines_.address("address", content.address).size("bytes", content.bytes).count("hashed", content.hashed_bytes);
    lines_.word("hash", fmt::format("{:016x}", content.hash)).finish();
  }
  void on(const trace::MemoryRecord& memory) override {
    if (!wants_memory_) return;
    lines_.start("memory").time("time", memory.time_ns).size("resident", memory.resident_bytes).finish();
  }
  void on(const trace::SampleRecord& sample) override {
    if (!wants_sample_) return;
    lines_.start("sample").id("thread", sample.thread).time("time", sample.time_ns);
    place(sample.stack);
    lines_.finish();
  }
  void on(const trace::LinkTrafficRecord& traffic) override {
    if (!wants_link_traffic_) return;
    lines_.start("link_traffic").id("device", traffic.device);
    lines_.time("start", traffic.start_ns).time("end", traffic.end_ns);
    lines_.size("pcie_in", traffic.pcie_in_bytes).size("pcie_out", traffic.pcie_out_bytes);
    lines_.size("nvlink_in", traffic.nvlink_in_bytes).size("nvlink_out", traffic.nvlink_out_bytes).finish();
  }

 private:
  template <typename Record>
  void work(std::string_view kind, const Record& record) {
    lines_.start(kind).id("device", record.device).id("context", record.context).id("stream", record.stream);
    lines_.id("correlation", record.correlation).time("start", record.start_ns).time("end", record.end_ns);
  }

  // The stack, and the innermost line of Python in it.
  void place(std::uint32_t stack_id) {
    lines_.count("stack", stack_id);
    const auto stack = process_.stacks.find(stack_id);
    if (stack) {
      for (const std::uint32_t frame_id : stack->frames) {
        const auto frame = process_.frames.find(frame_id);
        if (frame == process_.frames.end() || frame->second.kind != trace::FrameKind::kPython) continue;
        lines_.text("at", frame->second.file + ":" + std::to_string(frame->second.line));
        lines_.text("in", frame->second.function);
        return;
      }
    }
    lines_.word("at", "unknown").word("in", "unknown");
  }

  const trace::Process& process_;
  Lines& lines_;
  bool wants_call_, wants_memcpy_, wants_memset_, wants_kernel_, wants_range_, wants_device_, wants_thread_,
      wants_stream_, wants_migration_, wants_graph_node_, wants_content_, wants_memory_, wants_sample_,
      wants_link_traffic_;
};

template <typename Map>
std::vector<std::uint32_t> sorted_ids(const Map& map) {
  std::vector<std::uint32_t> ids;
  ids.reserve(map.size());
  for (const auto& [id, value] : map) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void print_strings(const trace::Process& process, Lines& lines) {
  for (const std::uint32_t id : sorted_ids(process.strings)) {
    lines.start("string").id("id", id).text("text", process.string(id)).finish();
  }
}

void print_frames(const trace::Process& process, Lines& lines) {
  for (const std::uint32_t id : sorted_ids(process.frames)) {
    const trace::Frame& frame = process.frames.at(id);
    lines.start("frame").id("id", id).choice("kind", frame.kind, kFrameKinds).text("function", frame.function);
    lines.text("file", frame.file).count("line", frame.line).count("first_line", frame.first_line);
    lines.address("module_offset", frame.module_offset).finish();
  }
}

void print_stacks(const trace::Process& process, Lines& lines) {
  for (const std::uint32_t id : sorted_ids(process.stacks)) {
    const trace::Stack stack = process.stacks.at(id);
    lines.start("stack").id("id", id).count("truncated", stack.is_truncated);
    lines.word("frames", fmt::format("{}", fmt::join(stack.frames, ","))).finish();
  }
}

void print_source(const trace::Process& process, Lines& lines) {
  for (const auto& [file, pieces] : process.source_text.files()) {
    for (const auto& [place, text] : pieces) {
      std::string hash;
      for (const char byte : place.first) hash += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      lines.start("source").text("file", file).count("first_line", place.second).word("sha256", hash);
      lines.text("text", text).finish();
    }
  }
}

void print_clock(const trace::Process& process, Lines& lines) {
  for (const trace::ClockSample& sample : process.clock_samples) {
    lines.start("clock").time("realtime", sample.realtime_ns).time("monotonic", sample.monotonic_ns);
    lines.time("cupti", sample.cupti_ns).count("tsc", sample.tsc).finish();
  }
}

void print_losses(const trace::Process& process, Lines& lines) {
  for (const auto& [number, count] : process.losses) {
    const trace::LossInfo* const info = trace::find_loss(number);
    lines.start("loss").word("name", info != nullptr ? info->name : "unknown").count("number", number);
    lines.count("count", count).text("sentence", info != nullptr ? info->sentence : "").finish();
  }
}

void print_end(const trace::Process& process, Lines& lines) {
  if (!process.end) return;
  const trace::EndEntry& end = *process.end;
  lines.start("end").time("time", end.end_realtime_ns).count("calls", end.call_count);
  lines.count("memcpys", end.memcpy_count).count("memcpy_bytes", end.memcpy_bytes);
  lines.count("memsets", end.memset_count).count("kernels", end.kernel_count).finish();
}

void print_process(const trace::Process& process, const std::set<std::string, std::less<>>& kinds, Lines& lines) {
  const auto wants = [&](std::string_view kind) { return kinds.empty() || kinds.contains(kind); };
  if (wants("process")) {
    lines.start("process").text("path", process.path).count("pid", process.pid).count("parent", process.parent_pid);
    lines.time("start", process.start_realtime_ns).finish();
  }
  if (wants("metadata")) {
    for (const auto& [key, value] : process.metadata) {
      lines.start("metadata").text("key", key).text("value", value).finish();
    }
  }
  if (wants("string")) print_strings(process, lines);
  if (wants("frame")) print_frames(process, lines);
  if (wants("stack")) print_stacks(process, lines);
  if (wants("source")) print_source(process, lines);
  if (wants("clock")) print_clock(process, lines);
  if (wants("loss")) print_losses(process, lines);
  if (wants("end")) print_end(process, lines);
}

}  // namespace

std::span<const std::string_view> dump_kinds() noexcept {
  return kKinds;
}

Result<trace::Process> read_trace(const std::filesystem::path& path, trace::RecordSink& sink) {
  return trace::read_file(path, sink);
}

Status dump_file(const std::filesystem::path& path, const std::set<std::string, std::less<>>& kinds, std::FILE* out,
                 const ReadTrace& read) {
  trace::RecordSink nowhere;
  const auto process = read(path, nowhere);
  if (!process) return process.error();
  Lines lines(out);
  print_process(*process, kinds, lines);
  RecordPrinter printer(*process, kinds, lines);
  const auto again = read(path, printer);
  if (const int reason = lines.close(); reason != 0) {
    return Error{std::string("The output could not be written: ") + std::strerror(reason) +
                 ". Free some room, or send it elsewhere."};
  }
  return again ? Status() : again.error();
}

}  // namespace turnpike::report
