// Writes the trace of a process whose copies come from many places: each of them has a call path of its own.
//
//     path_traces OUT PATHS [FIRST [COPIES]]
//
// Path K is that of line K / 1000 of the program and line K % 1000 of a library, with the frames that lie between in a
// real program: 17 in all. FIRST: the number of the first path, so that several processes have different ones. COPIES:
// as many as there are paths, unless given.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trace/make_record.h"
#include "trace_chunks.h"

namespace {

using namespace turnpike;
using bench::append;
using bench::pad;

constexpr std::uint32_t kLines = 1000;  // of the program and of the library, each
constexpr std::int64_t kStartNs = 1'795'296'000'000'000'000;
constexpr std::uint32_t kDevice = 0, kContext = 1, kStream = 7, kThread = 100;

class Definitions {
 public:
  std::uint32_t string(const std::string& text) {
    append(strings, trace::StringEntry{next_, static_cast<std::uint32_t>(text.size())});
    strings += text;
    pad(strings);
    return next_++;
  }
  std::uint32_t frame(trace::FrameKind kind, std::uint32_t function, std::uint32_t file, std::uint32_t line) {
    append(frames, trace::FrameEntry{next_, kind, function, file, line, line == 0 ? 0u : 1u, 0});
    return next_++;
  }

  std::string strings, frames;

 private:
  std::uint32_t next_ = 1;
};

// The frames of a path that are not of all paths, innermost first in a stack.
struct Frames {
  std::vector<std::uint32_t> native, library, between, program, outermost;

  explicit Frames(Definitions& definitions) {
    const auto torch = definitions.string("/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so");
    for (const char* symbol : {"_ZN2at6native5copy_ERNS_6TensorERKS1_b", "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b",
                               "_ZN2at6native8_to_copyERKNS_6TensorE", "_ZN2at4_ops8_to_copy4callERKNS_6TensorE"}) {
      native.push_back(definitions.frame(trace::FrameKind::kNative, definitions.string(symbol), torch, 0));
    }
    const std::string packages = "/venv/lib/python3.12/site-packages/";
    const auto python = trace::FrameKind::kPython;
    const auto leaf = definitions.string(packages + "lightning/pytorch/utilities/apply_func.py");
    const auto called = definitions.string("move_data_to_device");
    for (std::uint32_t line = 1; line <= kLines; ++line) {
      library.push_back(definitions.frame(python, called, leaf, line));
    }
    for (const char* file :
         {"loops/training_epoch_loop.py", "loops/fit_loop.py", "trainer/call.py", "core/module.py",
          "strategies/strategy.py", "loops/automatic.py", "accelerators/cuda.py", "trainer/trainer.py"}) {
      between.push_back(definitions.frame(python, definitions.string("advance"),
                                          definitions.string(packages + "lightning/pytorch/" + file), 42));
    }
    const auto train = definitions.string("/home/me/project/train.py");
    const auto step = definitions.string("training_step");
    for (std::uint32_t line = 1; line <= kLines; ++line) {
      program.push_back(definitions.frame(python, step, train, line));
    }
    for (const char* name : {"fit", "main", "<module>"}) {
      outermost.push_back(definitions.frame(python, definitions.string(name), train, 2000));
    }
  }

  std::vector<std::uint32_t> of(std::uint32_t path) const {
    std::vector<std::uint32_t> stack = native;
    stack.push_back(library[path % kLines]);
    stack.insert(stack.end(), between.begin(), between.end());
    stack.push_back(program[path / kLines % kLines]);
    stack.insert(stack.end(), outermost.begin(), outermost.end());
    return stack;
  }
};

void append_stack(std::string& stacks, std::uint32_t id, const std::vector<std::uint32_t>& frames) {
  append(stacks, trace::StackEntry{id, static_cast<std::uint16_t>(frames.size()), 0});
  for (const std::uint32_t frame : frames) append(stacks, frame);
  pad(stacks);
}

constexpr std::int64_t kPeriodNs = 20'000;
constexpr std::uint64_t kCopyBytes = 4096;

trace::CallRecord call_of(std::uint32_t number, std::uint32_t paths, std::uint32_t name) {
  auto call = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
  call.thread = kThread;
  call.start_ns = kStartNs + number * kPeriodNs;
  call.end_ns = call.start_ns + 6'000;
  call.correlation = number + 1;
  call.stack = number % paths + 1;
  call.name = name;
  call.kind = trace::CallKind::kCopy;
  call.api = trace::Api::kRuntime;
  call.context = kContext;
  call.stream = kStream;
  call.device = kDevice;
  call.bytes = kCopyBytes;
  call.dst = 0x7f0000000000;
  call.src = 0x600000000000;
  return call;
}

trace::MemcpyRecord copy_of(const trace::CallRecord& call) {
  auto copy = trace::make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  copy.device = kDevice;
  copy.start_ns = call.start_ns + 3'000;
  copy.end_ns = copy.start_ns + 1'500;
  copy.bytes = kCopyBytes;
  copy.correlation = call.correlation;
  copy.context = kContext;
  copy.stream = kStream;
  copy.copy_kind = trace::CopyKind::kHostToDevice;
  copy.src_kind = trace::MemoryKind::kPageable;
  copy.dst_kind = trace::MemoryKind::kDevice;
  copy.src_device = copy.dst_device = trace::kUnknownId;
  copy.copy_count = 1;
  return copy;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fputs("usage: path_traces OUT PATHS [FIRST [COPIES]]\n", stderr);
    return 2;
  }
  const auto number_at = [&](int at, unsigned long otherwise) {
    return static_cast<std::uint32_t>(at < argc ? std::strtoul(argv[at], nullptr, 10) : otherwise);
  };
  const std::uint32_t paths = number_at(2, 0);
  const std::uint32_t first = number_at(3, 0);
  const std::uint32_t count = number_at(4, paths);
  trace::FileHeader header{};
  header.start_realtime_ns = kStartNs;
  header.pid = 100 + first;
  bench::TraceFile output(argv[1], header);
  Definitions definitions;
  const Frames frames(definitions);
  const std::uint32_t name = definitions.string("cudaMemcpyAsync");
  output.chunk(trace::ChunkType::kStrings, definitions.strings);
  output.chunk(trace::ChunkType::kFrames, definitions.frames);
  trace::EndEntry end{};
  std::string stacks, records;
  for (std::uint32_t number = 0; number < count; ++number) {
    if (number < paths) append_stack(stacks, number + 1, frames.of(first + number));
    const auto call = call_of(number, paths, name);
    append(records, call);
    append(records, copy_of(call));
    end.call_count += 1;
    end.memcpy_count += 1;
    end.memcpy_bytes += kCopyBytes;
    if (records.size() < (1u << 18) && number + 1 < count) continue;
    output.chunk(trace::ChunkType::kStacks, stacks);
    output.chunk(trace::ChunkType::kRecords, records);
    stacks.clear();
    records.clear();
  }
  end.end_realtime_ns = kStartNs + count * kPeriodNs;
  std::string closing;
  append(closing, end);
  output.chunk(trace::ChunkType::kEnd, closing);
  return 0;
}
