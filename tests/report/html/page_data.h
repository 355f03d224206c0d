// Recordings to make pages of, and what a page holds, read as a browser reads it.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "analyze/model/timeline.h"
#include "report/html/decoded.h"
#include "report/html/format.h"
#include "trace/process.h"

namespace turnpike::report::html {

using Json = nlohmann::json;

inline constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
inline constexpr std::uint32_t kMain = 100;

// One process, record by record.
struct Recording {
  Recording() { process.pid = kMain; }

  std::uint32_t text(const std::string& value) {
    const auto id = static_cast<std::uint32_t>(process.strings.size() + 1);
    process.strings[id] = value;
    return id;
  }
  std::uint32_t stack(const std::string& function, const std::string& file, std::uint32_t line) {
    const auto id = static_cast<std::uint32_t>(process.frames.size() + 1);
    process.frames[id] = {.kind = trace::FrameKind::kPython, .function = function, .file = file, .line = line};
    process.stacks.set(id, std::vector{id});
    return id;
  }
  void call(trace::CallKind kind, const std::string& name, std::uint32_t correlation, std::int64_t start,
            std::int64_t end, std::uint32_t stack_id = trace::kNoId) {
    trace::CallRecord record{};
    record.thread = kMain;
    record.start_ns = kStart + start;
    record.end_ns = kStart + end;
    record.correlation = correlation;
    record.stack = stack_id;
    record.name = text(name);
    record.kind = kind;
    record.bytes = trace::kUnknownSize;
    record.stream = record.device = trace::kUnknownId;
    loader.on(record);
  }
  void kernel(const std::string& name, std::uint32_t correlation, std::int64_t start, std::int64_t end,
              std::uint32_t stream = 7) {
    kernel_at(name, correlation, kStart + start, kStart + end, stream);
  }
  // With times as they stand in the file.
  void kernel_at(const std::string& name, std::uint32_t correlation, std::int64_t start_ns, std::int64_t end_ns,
                 std::uint32_t stream = 7) {
    trace::KernelRecord record{};
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.correlation = correlation;
    record.name = text(name);
    record.stream = stream;
    loader.on(record);
  }
  void copy(trace::CopyKind kind, std::uint64_t bytes, std::uint32_t correlation, std::int64_t start,
            std::int64_t end) {
    trace::MemcpyRecord record{};
    record.start_ns = kStart + start;
    record.end_ns = kStart + end;
    record.correlation = correlation;
    record.bytes = bytes;
    record.stream = 7;
    record.copy_kind = kind;
    record.src_kind =
        kind == trace::CopyKind::kHostToDevice ? trace::MemoryKind::kPageable : trace::MemoryKind::kDevice;
    record.dst_kind =
        kind == trace::CopyKind::kHostToDevice ? trace::MemoryKind::kDevice : trace::MemoryKind::kPageable;
    record.src_device = record.dst_device = trace::kUnknownId;
    record.copy_count = 1;
    loader.on(record);
  }
  void range(const std::string& name, std::int64_t start, std::int64_t end) {
    trace::RangeRecord record{};
    record.thread = record.end_thread = kMain;
    record.name = text(name);
    record.start_ns = kStart + start;
    record.end_ns = kStart + end;
    loader.on(record);
  }

  trace::Process process;
  analyze::TimelineLoader loader;
};

// Steps of an upload that holds the CPU, a launch and its kernel.
inline void add_loop(Recording& recording, int steps, const std::string& name = "train") {
  const std::uint32_t place = recording.stack(name, "/home/me/" + name + ".py", 42);
  for (int i = 0; i < steps; ++i) {
    const std::int64_t at = std::int64_t{i} * 1'000'000;
    const auto id = static_cast<std::uint32_t>(2 * i + 1);
    recording.range("step " + std::to_string(i), at, at + 900'000);
    recording.call(trace::CallKind::kCopy, "cudaMemcpy", id, at, at + 500'000, place);
    recording.copy(trace::CopyKind::kHostToDevice, 1 << 20, id, at + 50'000, at + 450'000);
    recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", id + 1, at + 510'000, at + 515'000);
    recording.kernel(name, id + 1, at + 520'000, at + 620'000);
  }
}

// What stands in the element that starts with `open`.
inline std::string between(const std::string& html, const std::string& open, const std::string& close) {
  const auto from = html.find(open);
  EXPECT_NE(from, std::string::npos) << open;
  if (from == std::string::npos) return "";
  const auto start = from + open.size();
  return html.substr(start, html.find(close, start) - start);
}

inline Json contents_of(const std::string& html) {
  return Json::parse(between(html, "<script type=\"application/json\" id=\"tp-toc\">", "</script>"));
}

struct Decoded {
  std::int64_t start;
  std::uint64_t duration;
  std::uint64_t name;
  std::uint64_t event_class;
  std::uint64_t link;
};

inline std::uint64_t value_at(const std::string& plane, std::size_t count, std::size_t width, std::size_t i) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < width; ++byte) {
    value |= std::uint64_t{static_cast<unsigned char>(plane[byte * count + i])} << (8 * byte);
  }
  return value;
}

inline std::size_t width_named(const std::string& name) {
  for (std::size_t i = 0; i < kColumnCount; ++i) {
    if (name == name_of(static_cast<Column>(i))) return width_of(static_cast<Column>(i));
  }
  ADD_FAILURE() << name;
  return 1;
}

inline std::vector<Decoded> events_of(const std::string& html, const Json& lane) {
  std::vector<Decoded> events;
  for (const Json& block : lane["blocks"]) {
    const std::string text =
        decoded(between(html, "id=\"tp-b" + std::to_string(block["id"].get<int>()) + "\">", "</script>"));
    const std::size_t count = block["count"];
    std::string planes(count * 64 + 64, '\0');
    z_stream stream{};
    inflateInit2(&stream, -15);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(planes.data());
    stream.avail_out = static_cast<uInt>(planes.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    const std::size_t first = events.size();
    events.resize(first + count);
    std::size_t at = 0;
    for (const std::string column : lane["columns"]) {
      const std::size_t width = width_named(column);
      std::int64_t start = block["first"];
      std::uint32_t link = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t value = value_at(planes.substr(at, width * count), count, width, i);
        Decoded& event = events[first + i];
        if (column == "start") event.start = start += static_cast<std::int64_t>(value);
        if (column == "duration") event.duration = value;
        if (column == "name") event.name = value;
        if (column == "class") event.event_class = value;
        if (column == "link") event.link = link += static_cast<std::uint32_t>(value);
      }
      at += width * count;
    }
  }
  return events;
}

// Every lane of the page keeps the rules that the page checks.
inline void expect_lanes(const std::string& html) {
  const Json contents = contents_of(html);
  std::uint64_t all = 0;
  for (const Json& lane : contents["lanes"]) {
    for (const Json& block : lane["blocks"]) all += block["count"].get<std::uint64_t>();
  }
  for (const Json& lane : contents["lanes"]) {
    const auto events = events_of(html, lane);
    for (std::size_t i = 0; i < events.size(); ++i) {
      ASSERT_GE(events[i].start, 0);
      if (i > 0) {
        ASSERT_LE(events[i - 1].start + static_cast<std::int64_t>(events[i - 1].duration), events[i].start);
      }
      ASSERT_LT(events[i].name, lane["names"].size());
      const std::set<std::string> linked = {"stream", "copy_up", "copy_down", "copy_peer", "copy_device", "state"};
      if (linked.contains(lane["kind"]) && events[i].link != kNoLink) {
        ASSERT_LT(events[i].link, all);
      }
    }
  }
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace turnpike::report::html
