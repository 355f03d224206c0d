// A recording of our own, whole in memory, for tests that write it anew as files of other tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::ingest {

struct RecordedRun final : trace::RecordSink {
  void on(const trace::CallRecord& record) override { calls.push_back(record); }
  void on(const trace::MemcpyRecord& record) override { copies.push_back(record); }
  void on(const trace::MemsetRecord& record) override { memsets.push_back(record); }
  void on(const trace::KernelRecord& record) override { kernels.push_back(record); }
  void on(const trace::RangeRecord& record) override { ranges.push_back(record); }
  void on(const trace::DeviceRecord& record) override { devices.push_back(record); }
  void on(const trace::ThreadRecord& record) override { threads.push_back(record); }

  const std::string& text(std::uint32_t string) const { return process.string(string); }
  // Of a call, innermost first.
  std::vector<const trace::Frame*> frames(const trace::CallRecord& call) const {
    std::vector<const trace::Frame*> frames;
    const auto stack = process.stacks.find(call.stack);
    if (!stack) return frames;
    for (const std::uint32_t id : stack->frames) frames.push_back(&process.frames.at(id));
    return frames;
  }

  trace::Process process;
  std::vector<trace::CallRecord> calls;
  std::vector<trace::MemcpyRecord> copies;
  std::vector<trace::MemsetRecord> memsets;
  std::vector<trace::KernelRecord> kernels;
  std::vector<trace::RangeRecord> ranges;
  std::vector<trace::DeviceRecord> devices;
  std::vector<trace::ThreadRecord> threads;
};

// Something that encloses a call, as profilers write it: an operator, a node of the backward pass, a function of
// Python.
struct Enclosing {
  enum class Kind { kOperator, kNode, kPython };
  Kind kind;
  std::string name;
  const trace::Frame* frame = nullptr;  // of kPython
};

// What encloses a call, outermost first.
std::vector<Enclosing> enclosing(const RecordedRun& run, const trace::CallRecord& call);

// As `nsys export --type sqlite` of schema 3.25 has it.
void write_as_nsys(const RecordedRun& run, const std::filesystem::path& path);
// As torch.profiler with with_stack=True has it.
void write_as_kineto(const RecordedRun& run, const std::filesystem::path& path);

}  // namespace turnpike::ingest
