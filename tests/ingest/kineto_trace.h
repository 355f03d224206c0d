// Writes traces as torch.profiler does, by hand, and collects what the reader finds in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/kineto/byte_source.h"
#include "ingest/kineto/kineto.h"
#include "trace/losses.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::ingest {

// Bytes in memory, handed out in pieces of `piece_bytes`.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text, std::size_t piece_bytes = 1u << 20)
      : text_(text), piece_bytes_(piece_bytes) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t count = std::min({into.size(), piece_bytes_, text_.size() - at_});
    std::memcpy(into.data(), text_.data() + at_, count);
    at_ += count;
    return count;
  }
  std::uint64_t consumed_bytes() const override { return at_; }
  std::uint64_t file_bytes() const override { return text_.size(); }

 private:
  std::string_view text_;
  std::size_t piece_bytes_;
  std::size_t at_ = 0;
};

// Every record, and all of them as bytes in their order.
struct Records final : trace::RecordSink {
  std::vector<trace::CallRecord> calls;
  std::vector<trace::MemcpyRecord> copies;
  std::vector<trace::MemsetRecord> memsets;
  std::vector<trace::KernelRecord> kernels;
  std::vector<trace::RangeRecord> ranges;
  std::vector<trace::DeviceRecord> devices;
  std::vector<trace::ThreadRecord> threads;
  std::vector<trace::SampleRecord> samples;
  std::string bytes;

  template <typename Record>
  void keep(std::vector<Record>& list, const Record& record) {
    list.push_back(record);
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  void on(const trace::CallRecord& record) override { keep(calls, record); }
  void on(const trace::MemcpyRecord& record) override { keep(copies, record); }
  void on(const trace::MemsetRecord& record) override { keep(memsets, record); }
  void on(const trace::KernelRecord& record) override { keep(kernels, record); }
  void on(const trace::RangeRecord& record) override { keep(ranges, record); }
  void on(const trace::DeviceRecord& record) override { keep(devices, record); }
  void on(const trace::ThreadRecord& record) override { keep(threads, record); }
  void on(const trace::SampleRecord& record) override { keep(samples, record); }
};

struct ReadTrace {
  trace::Process process;
  Records records;

  std::uint64_t loss(trace::Loss which) const {
    const auto found = process.losses.find(static_cast<std::uint32_t>(which));
    return found == process.losses.end() ? 0 : found->second;
  }
  // "aten::copy_ < aten::to < train.py(12): step", innermost first.
  std::string stack(std::uint32_t id) const {
    std::string text;
    const auto found = process.stacks.find(id);
    if (!found) return "no stack";
    for (const std::uint32_t frame_id : found->frames) {
      const trace::Frame& frame = process.frames.at(frame_id);
      if (!text.empty()) text += " < ";
      if (frame.kind == trace::FrameKind::kPython) {
        text += frame.file + '(' + std::to_string(frame.first_line) + "): ";
      }
      text += frame.function;
    }
    return text;
  }
};

inline ReadTrace read_text(std::string_view text, std::size_t piece_bytes = 1u << 20,
                           std::size_t window_bytes = EventStream::kWindowBytes,
                           std::size_t max_event_bytes = EventStream::kMaxEventBytes) {
  ReadTrace read;
  TextSource source(text, piece_bytes);
  auto process = read_kineto(source, "trace.json", read.records, {}, window_bytes, max_event_bytes);
  EXPECT_TRUE(process) << process.error().message;
  if (process) read.process = std::move(*process);
  return read;
}

// A complete event. `fields` stand behind the category, for example `"tid": 7, "ts": 1.5, "dur": 2`.
inline std::string event(std::string_view category, std::string_view name, std::string_view fields,
                         std::string_view arguments = "") {
  std::string text = R"({"ph": "X", "cat": ")";
  text += category;
  text += R"(", "name": ")";
  text += name;
  text += R"(", )";
  text += fields;
  text += R"(, "args": {)";
  text += arguments;
  text += "}}";
  return text;
}

// On the main thread of the process that all tests share.
inline std::string on_host(std::string_view category, std::string_view name, int start_us, int duration_us,
                           std::string_view arguments = "") {
  return event(
      category, name,
      R"("pid": 100, "tid": 100, "ts": )" + std::to_string(start_us) + R"(, "dur": )" + std::to_string(duration_us),
      arguments);
}

inline std::string on_device(std::string_view category, std::string_view name, int start_us, int duration_us,
                             std::string_view arguments) {
  return event(
      category, name,
      R"("pid": 0, "tid": 7, "ts": )" + std::to_string(start_us) + R"(, "dur": )" + std::to_string(duration_us),
      R"("device": 0, "context": 1, "stream": 7, )" + std::string(arguments));
}

// The file, laid out as torch.profiler does. `before` and `behind`: members of the top level, with their commas.
inline std::string trace_of(const std::vector<std::string>& events, std::string_view before = "",
                            std::string_view behind = "") {
  std::string text = "\n  {\n    \"schemaVersion\": 1,\n  ";
  text += before;
  text += "\"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += "  " + events[i] + (i + 1 < events.size() ? ",\n" : "\n");
  text += "  ]";
  text += behind;
  return text + "\n}\n";
}

}  // namespace turnpike::ingest
