// Writes the trace of one rank of a large job from a recording: its steps are repeated for as long as asked, with noise
// and with the faults that are asked for. Two kernels a step stand for the computation and for the collective, in which
// a rank waits for the slowest one.
//
//     fleet_traces SOURCE OUT [KEY=VALUE...]
//
// Text keys (host, job) and numbers, with their defaults, are in `Asked`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/make_record.h"
#include "trace/reader.h"
#include "trace/record_sink.h"
#include "trace_chunks.h"

namespace {

using namespace turnpike;
using bench::append;
using bench::pad;
using trace::CallRecord;
using trace::MemcpyRecord;
using trace::RecordKind;

struct Asked {
  std::map<std::string, std::string> texts{{"host", "host0"}, {"job", "job"}};
  std::map<std::string, double> numbers{
      {"pid", 100},
      {"rank", 0},
      {"local_rank", 0},
      {"world_size", 1},
      {"seed", 1},
      {"steps", 600},
      {"period_ms", 100},
      {"own", 1},              // this rank's own time of a step, of what is usual
      {"slowest", 1},          // that of the slowest rank, for which all wait
      {"rate", 1},             // of its copies, of what is usual
      {"bytes", 1},            // of its uploads, of what is usual
      {"pinned", 1},           // 0: the upload is from pageable memory, as recorded
      {"far", 0},              // 1: host memory on the other NUMA node
      {"width", 16},           // of the link
      {"extra", 0},            // downloads a step at one more line
      {"drift", 0},            // by how much of a step its own time has grown at the end
      {"stalled_minute", -1},  // the minute in which its own time is that of `stall`
      {"stall", 1},            // of what is usual
      {"kernels", 1},          // launches of the computation in a step
      {"receive", 0},          // the part of a step that it waits in a receive for another rank
      {"clock_s", 0},          // by which the host's clock is ahead
      {"lost", 0},             // calls that it lost
      {"first", 0},
      {"last", 1e15},  // steps that are recorded, of all: first up to before last
  };
  double operator[](const std::string& key) const { return numbers.at(key); }
};

constexpr double kPinnedGbps = 52;

struct Step {
  std::vector<CallRecord> calls;  // times from the start of the step
  std::vector<MemcpyRecord> copies;
};

class Recorded final : public trace::RecordSink {
 public:
  void on(const CallRecord& record) override {
    if (record.kind == trace::CallKind::kCopy || record.kind == trace::CallKind::kSynchronize) calls_.push_back(record);
  }
  void on(const MemcpyRecord& record) override { copies_[record.correlation] = record; }
  void on(const trace::DeviceRecord& record) override { device = record; }
  void on(const trace::StreamRecord& record) override { streams.push_back(record); }

  // From one large upload to the next; those at either end warm up and wind down.
  std::vector<Step> steps() {
    std::sort(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto copy = copies_.find(calls_[i].correlation);
      if (copy == copies_.end() || copy->second.copy_kind != trace::CopyKind::kHostToDevice) continue;
      if (copy->second.bytes == largest_bytes()) starts.push_back(i);
    }
    std::vector<Step> found;
    for (std::size_t i = starts.size() / 4; i + 1 < starts.size() * 3 / 4; ++i)
      found.push_back(step(starts[i], starts[i + 1]));
    return found;
  }

  trace::DeviceRecord device{};
  std::vector<trace::StreamRecord> streams;

 private:
  std::uint64_t largest_bytes() const {
    std::map<std::uint64_t, int> seen;
    for (const auto& [correlation, copy] : copies_) {
      if (copy.copy_kind == trace::CopyKind::kHostToDevice) ++seen[copy.bytes];
    }
    std::uint64_t largest = 0;
    for (const auto& [bytes, count] : seen) largest = count >= 10 ? std::max(largest, bytes) : largest;
    return largest;
  }

  Step step(std::size_t first, std::size_t last) const {
    Step one;
    const std::int64_t start_ns = calls_[first].start_ns;
    for (std::size_t i = first; i < last; ++i) {
      one.calls.push_back(calls_[i]);
      one.calls.back().start_ns -= start_ns;
      one.calls.back().end_ns -= start_ns;
      const auto copy = copies_.find(calls_[i].correlation);
      if (copy == copies_.end()) continue;
      one.copies.push_back(copy->second);
      one.copies.back().start_ns -= start_ns;
      one.copies.back().end_ns -= start_ns;
    }
    return one;
  }

  std::vector<CallRecord> calls_;
  std::unordered_map<std::uint32_t, MemcpyRecord> copies_;
};

// Records are written many at a time.
class Output : public bench::TraceFile {
 public:
  using TraceFile::TraceFile;

  template <typename Record>
  void record(const Record& record) {
    append(records_, record);
    if (records_.size() > (1u << 18)) flush();
  }
  void flush() {
    chunk(trace::ChunkType::kRecords, records_);
    records_.clear();
  }

 private:
  std::string records_;
};

void write_definitions(const trace::Process& process, const Asked& asked, Output& output) {
  std::map<std::string, std::string> metadata = process.metadata;
  metadata["detail"] = "full";
  metadata["host"] = asked.texts.at("host");
  metadata["job_id"] = asked.texts.at("job");
  for (const char* key : {"rank", "local_rank", "world_size"}) {
    metadata[key] = std::to_string(static_cast<long>(asked[key]));
  }
  const std::string width = std::to_string(static_cast<int>(asked["width"]));
  metadata["link.0"] = "generation=5 width=" + width + " max_generation=5 max_width=16 busy_reads=9 from=sysfs";
  metadata["host_memory"] = asked["far"] > 0 ? "1000@1" : "1000@0";
  std::string bytes;
  for (const auto& [key, value] : metadata) {
    append(bytes,
           trace::MetadataEntry{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())});
    bytes += key + value;
    pad(bytes);
  }
  output.chunk(trace::ChunkType::kMetadata, bytes);
}

constexpr std::uint32_t kNameIds = 1u << 24;  // above those of any recording

class Definitions {
 public:
  explicit Definitions(const trace::Process& process) {
    for (const auto& [id, text] : process.strings) string(id, text);
    for (const auto [id, stack] : process.stacks) {
      append(stacks_, trace::StackEntry{id, static_cast<std::uint16_t>(stack.frames.size()), 0});
      for (const std::uint32_t frame : stack.frames) append(stacks_, frame);
      pad(stacks_);
    }
    for (const auto& [id, one] : process.frames) frame(id, one);
  }
  std::uint32_t string(const std::string& text) {
    string(next_, text);
    return next_++;
  }
  std::uint32_t stack_of_line(const std::string& function, const std::string& file, std::uint32_t line) {
    frame(next_, {trace::FrameKind::kPython, function, file, line, 1, 0});
    const std::uint32_t frame_id = next_ - 3;
    append(stacks_, trace::StackEntry{next_, 1, 0});
    append(stacks_, frame_id);
    pad(stacks_);
    return next_++;
  }
  void write(Output& output) const {
    output.chunk(trace::ChunkType::kStrings, strings_);
    output.chunk(trace::ChunkType::kFrames, frames_);
    output.chunk(trace::ChunkType::kStacks, stacks_);
  }

 private:
  void string(std::uint32_t id, const std::string& text) {
    append(strings_, trace::StringEntry{id, static_cast<std::uint32_t>(text.size())});
    strings_ += text;
    pad(strings_);
  }
  void frame(std::uint32_t id, const trace::Frame& one) {
    const std::uint32_t own = id == next_ ? next_++ : id;
    const std::uint32_t function = string(one.function);
    append(frames_,
           trace::FrameEntry{own, one.kind, function, string(one.file), one.line, one.first_line, one.module_offset});
  }

  std::uint32_t next_ = kNameIds;
  std::string strings_, frames_, stacks_;
};

class Rank {
 public:
  Rank(const Asked& asked, std::vector<Step> steps, Definitions& definitions, Output& output)
      : asked_(asked),
        steps_(std::move(steps)),
        output_(output),
        random_(static_cast<std::uint64_t>(asked["seed"]) * 1'000'003 + static_cast<std::uint64_t>(asked["rank"])),
        compute_(definitions.string("ampere_sgemm_128x64_nn")),
        collective_(definitions.string("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")),
        receive_(definitions.string("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")),
        launch_(definitions.string("cudaLaunchKernel")),
        extra_(definitions.stack_of_line("log_everything", "/home/me/train.py", 77)) {}

  std::int64_t write(std::int64_t start_ns) {
    const auto steps = static_cast<std::int64_t>(asked_["steps"]);
    double at_ns = static_cast<double>(start_ns);
    for (std::int64_t k = 0; k < steps; ++k) {
      is_recorded_ = k >= static_cast<std::int64_t>(asked_["first"]) && k < static_cast<std::int64_t>(asked_["last"]);
      double grown = 1 + asked_["drift"] * static_cast<double>(k) / static_cast<double>(steps);
      const double minute = std::floor((at_ns - static_cast<double>(start_ns)) / 60e9);
      if (minute == asked_["stalled_minute"]) grown *= asked_["stall"];
      at_ns += write_step(steps_[static_cast<std::size_t>(k) % steps_.size()], static_cast<std::int64_t>(at_ns), grown);
    }
    output_.flush();
    return static_cast<std::int64_t>(at_ns);
  }

  trace::EndEntry end{};

 private:
  double noisy(double value, double spread) { return value * std::max(0.5, 1 + spread * normal_(random_)); }

  double write_step(const Step& step, std::int64_t at_ns, double grown) {
    const double period_ns = asked_["period_ms"] * 1e6;
    std::unordered_map<std::uint32_t, std::uint32_t> renumbered;
    for (CallRecord call : step.calls) {
      const std::uint32_t correlation = ++correlation_;
      renumbered[call.correlation] = correlation;
      call.correlation = correlation;
      call.start_ns += at_ns;
      call.end_ns += at_ns;
      if (is_upload(call)) {
        call.src = 0x1000;
        call.bytes = static_cast<std::uint64_t>(static_cast<double>(call.bytes) * asked_["bytes"]);
        if (asked_["pinned"] > 0) call.end_ns = call.start_ns + 6000;
      }
      put(call);
    }
    for (const MemcpyRecord& copy : step.copies) write_copy(copy, renumbered.at(copy.correlation), at_ns);
    for (int i = 0; i < static_cast<int>(asked_["extra"]); ++i) write_extra(at_ns + 20'000'000 + i * 100'000);
    const double usual = 0.9 * period_ns;
    const double own = noisy(usual * asked_["own"] * grown, 0.004);
    const double all = std::max(usual * asked_["slowest"] * grown, own);
    write_compute(at_ns + 18'000'000, at_ns + static_cast<std::int64_t>(own));
    write_kernel(collective_, at_ns + static_cast<std::int64_t>(own),
                 at_ns + static_cast<std::int64_t>(all + noisy(0.03 * period_ns, 0.02)));
    return all + 0.1 * period_ns;
  }

  // What it receives comes before what it computes.
  void write_compute(std::int64_t start_ns, std::int64_t end_ns) {
    const auto receive_ns = static_cast<std::int64_t>(asked_["receive"] * asked_["period_ms"] * 1e6);
    if (receive_ns > 0) write_kernel(receive_, start_ns, start_ns + receive_ns);
    start_ns += receive_ns;
    const auto kernels = static_cast<std::int64_t>(asked_["kernels"]);
    for (std::int64_t i = 0; i < kernels; ++i) {
      write_kernel(compute_, start_ns + (end_ns - start_ns) * i / kernels,
                   start_ns + (end_ns - start_ns) * (i + 1) / kernels);
    }
  }

  static bool is_upload(const CallRecord& call) {
    return call.kind == trace::CallKind::kCopy && call.bytes != trace::kUnknownSize && call.bytes >= (1u << 20);
  }

  void write_copy(MemcpyRecord copy, std::uint32_t correlation, std::int64_t at_ns) {
    const bool is_large = copy.copy_kind == trace::CopyKind::kHostToDevice && copy.bytes >= (1u << 20);
    auto duration = static_cast<double>(copy.end_ns - copy.start_ns);
    if (is_large) {
      duration *= asked_["bytes"];
      copy.bytes = static_cast<std::uint64_t>(static_cast<double>(copy.bytes) * asked_["bytes"]);
      if (asked_["pinned"] > 0) {
        copy.src_kind = trace::MemoryKind::kPinned;
        copy.is_async = 1;
        duration = static_cast<double>(copy.bytes) / kPinnedGbps;
      }
      duration = noisy(duration / asked_["rate"], 0.02);
    }
    copy.correlation = correlation;
    copy.start_ns += at_ns;
    copy.end_ns = copy.start_ns + static_cast<std::int64_t>(duration);
    if (!is_recorded_) return;
    ++end.memcpy_count;
    end.memcpy_bytes += copy.bytes;
    output_.record(copy);
  }

  void write_extra(std::int64_t at_ns) {
    CallRecord call = trace::make_record<CallRecord>(RecordKind::kCall);
    call.thread = steps_.front().calls.front().thread;
    call.context = call.device = trace::kUnknownId;
    call.kind = trace::CallKind::kCopy;
    call.api = trace::Api::kRuntime;
    call.name = steps_.front().calls.front().name;
    call.stack = extra_;
    call.bytes = 4;
    call.stream = trace::kUnknownId;
    call.start_ns = at_ns;
    call.end_ns = at_ns + 30'000;
    call.correlation = ++correlation_;
    put(call);
    MemcpyRecord copy = steps_.front().copies.front();
    copy.bytes = 4;
    copy.copy_kind = trace::CopyKind::kDeviceToHost;
    copy.src_kind = trace::MemoryKind::kDevice;
    copy.dst_kind = trace::MemoryKind::kPageable;
    copy.is_async = 0;
    copy.start_ns = 5'000;
    copy.end_ns = 7'000;
    write_copy(copy, call.correlation, at_ns);
  }

  void write_kernel(std::uint32_t name, std::int64_t start_ns, std::int64_t end_ns) {
    CallRecord call = trace::make_record<CallRecord>(RecordKind::kCall);
    call.thread = steps_.front().calls.front().thread;
    call.kind = trace::CallKind::kLaunch;
    call.api = trace::Api::kRuntime;
    call.name = launch_;
    call.context = steps_.front().copies.front().context;
    call.stream = call.device = trace::kUnknownId;
    call.bytes = trace::kUnknownSize;
    call.start_ns = start_ns - 20'000;
    call.end_ns = start_ns - 15'000;
    call.correlation = ++correlation_;
    put(call);
    if (!is_recorded_) return;
    trace::KernelRecord kernel = trace::make_record<trace::KernelRecord>(RecordKind::kKernel);
    kernel.device = steps_.front().copies.front().device;
    kernel.context = steps_.front().copies.front().context;
    kernel.stream = name == compute_ ? steps_.front().copies.front().stream : 99;
    kernel.start_ns = start_ns;
    kernel.end_ns = end_ns;
    kernel.correlation = call.correlation;
    kernel.name = name;
    ++end.kernel_count;
    output_.record(kernel);
  }

  void put(const CallRecord& call) {
    if (!is_recorded_) return;
    ++end.call_count;
    output_.record(call);
  }

  const Asked& asked_;
  std::vector<Step> steps_;
  Output& output_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uint32_t compute_, collective_, receive_, launch_, extra_;
  std::uint32_t correlation_ = 0;
  bool is_recorded_ = true;
};

Asked parse(int count, char** words) {
  Asked asked;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (asked.texts.contains(key)) {
      asked.texts[key] = value;
    } else if (asked.numbers.contains(key)) {
      asked.numbers[key] = std::stod(value);
    } else {
      std::fprintf(stderr, "fleet_traces: there is no key %s\n", key.c_str());
      std::exit(2);
    }
  }
  return asked;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: fleet_traces SOURCE OUT [KEY=VALUE...]\n", stderr);
    return 2;
  }
  const Asked asked = parse(argc - 3, argv + 3);
  Recorded recorded;
  const auto process = trace::read_file(argv[1], recorded);
  if (!process) {
    std::fprintf(stderr, "%s\n", process.error().message.c_str());
    return 3;
  }
  constexpr std::int64_t kStartNs = 1'795'296'000'000'000'000;
  trace::FileHeader header{};
  header.start_realtime_ns = kStartNs + static_cast<std::int64_t>(asked["clock_s"] * 1e9);
  header.pid = static_cast<std::uint32_t>(asked["pid"]);
  Output output(argv[2], header);
  write_definitions(*process, asked, output);
  Definitions definitions(*process);
  Rank rank(asked, recorded.steps(), definitions, output);
  const std::uint32_t gpu = definitions.string("NVIDIA H100 80GB HBM3");
  definitions.write(output);
  recorded.device.name = gpu;
  recorded.device.numa_node = 0;
  recorded.device.pci_bus = static_cast<std::uint8_t>(1 + asked["local_rank"]);
  output.record(recorded.device);
  for (trace::StreamRecord& stream : recorded.streams) {
    stream.name = trace::kNoId;
    output.record(stream);
  }
  const std::int64_t end_ns = rank.write(header.start_realtime_ns);
  std::string losses;
  if (asked["lost"] > 0) append(losses, trace::LossEntry{3, 0, static_cast<std::uint64_t>(asked["lost"])});
  output.chunk(trace::ChunkType::kLosses, losses);
  rank.end.end_realtime_ns = end_ns;
  std::string end;
  append(end, rank.end);
  output.chunk(trace::ChunkType::kEnd, end);
  return 0;
}
