// The export for trace viewers, against what the viewers ask of it.
#include "report/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace turnpike::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
constexpr std::uint32_t kMain = 100;

// The records of one file, to be played to each reading.
struct File {
  trace::Process process;
  std::vector<std::function<void(trace::RecordSink&)>> records;

  std::uint32_t text(const std::string& value) {
    const auto id = static_cast<std::uint32_t>(process.strings.size() + 1);
    process.strings[id] = value;
    return id;
  }
  template <typename Record>
  void add(const Record& record) {
    records.push_back([record](trace::RecordSink& sink) { sink.on(record); });
  }
  void play(trace::RecordSink& sink) const {
    for (const auto& record : records) record(sink);
  }
};

trace::CallRecord call(std::int64_t start, std::int64_t end, std::uint32_t correlation, std::uint32_t name) {
  trace::CallRecord record{};
  record.thread = kMain;
  record.start_ns = kStart + start;
  record.end_ns = kStart + end;
  record.correlation = correlation;
  record.name = name;
  record.kind = trace::CallKind::kCopy;
  record.bytes = trace::kUnknownSize;
  record.stream = record.device = trace::kUnknownId;
  return record;
}

trace::MemcpyRecord copy(std::int64_t start, std::int64_t end, std::uint32_t correlation) {
  trace::MemcpyRecord record{};
  record.start_ns = kStart + start;
  record.end_ns = kStart + end;
  record.correlation = correlation;
  record.bytes = 8000;
  record.stream = 7;
  record.copy_kind = trace::CopyKind::kHostToDevice;
  record.src_kind = trace::MemoryKind::kPageable;
  record.dst_kind = trace::MemoryKind::kDevice;
  record.src_device = record.dst_device = trace::kUnknownId;
  record.copy_count = 1;
  return record;
}

trace::RangeRecord range(std::int64_t start, std::int64_t end, std::uint32_t name) {
  trace::RangeRecord record{};
  record.thread = record.end_thread = kMain;
  record.name = name;
  record.start_ns = kStart + start;
  record.end_ns = kStart + end;
  return record;
}

File ordinary_file() {
  File file;
  file.process.path = "run.tpk/100.tpt";
  file.process.pid = kMain;
  file.process.metadata["program"] = "python\x1ftrain.py";
  file.process.frames[1] = {trace::FrameKind::kPython, "train", "/home/me/train.py", 23, 1, 0};
  file.process.stacks[1] = {{1}, false};
  auto upload = call(1'001, 5'002, 1, file.text("cudaMemcpyAsync"));
  upload.stack = 1;
  file.add(upload);
  file.add(copy(2'000, 6'000, 1));
  trace::KernelRecord kernel{};
  kernel.start_ns = kStart + 6'000;
  kernel.end_ns = kStart + 9'000;
  kernel.correlation = 2;
  kernel.stream = 7;
  kernel.name = file.text("_Z6kernelv");
  file.add(kernel);
  file.add(call(5'100, 5'200, 2, file.text("cudaLaunchKernel")));
  file.add(range(0, 7'000, file.text("step")));
  file.add(range(1'000, 1'000, file.text("mark")));
  file.add(trace::DeviceRecord{{}, 0, file.text("NVIDIA H100"), 132, 0, 0, 0, 0, 0xFFFF});
  file.add(trace::StreamRecord{{}, 0, 1, 7, 0, 1, {}});
  return file;
}

Json exported(const std::vector<File>& files) {
  std::vector<ChromeIndex> indexes(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].play(indexes[i]);
    indexes[i].finish(files[i].process);
  }
  std::string text;
  ChromeExporter exporter(indexes, [&](std::string_view bytes) { text += bytes; });
  for (std::size_t i = 0; i < files.size(); ++i) files[i].play(*exporter.second_pass(i));
  exporter.close();
  return Json::parse(text);
}

std::vector<Json> of_type(const Json& trace, const std::string& type) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == type) found.push_back(event);
  }
  return found;
}

Json slice_named(const Json& trace, const std::string& name) {
  for (const Json& event : of_type(trace, "X")) {
    if (event["name"] == name) return event;
  }
  ADD_FAILURE() << "no slice is named " << name;
  return {};
}

using RowKey = std::pair<std::uint32_t, std::uint32_t>;
RowKey row_of(const Json& event) {
  return {event["pid"].get<std::uint32_t>(), event["tid"].get<std::uint32_t>()};
}

std::int64_t start_of(const Json& event) {
  return std::llround(event["ts"].get<double>() * 1000);
}
std::int64_t end_of(const Json& slice) {
  return start_of(slice) + std::llround(slice["dur"].get<double>() * 1000);
}

// Viewers draw slices of a row as a stack: each must lie inside or beside every other.
void expect_nesting(const Json& trace) {
  std::map<RowKey, std::vector<Json>> rows;
  for (const Json& slice : of_type(trace, "X")) rows[row_of(slice)].push_back(slice);
  for (auto& [row, slices] : rows) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Json& a, const Json& b) { return start_of(a) < start_of(b); });
    std::vector<std::int64_t> open;
    for (const Json& slice : slices) {
      while (!open.empty() && open.back() <= start_of(slice)) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end_of(slice), open.back()) << slice;
      }
      open.push_back(end_of(slice));
    }
  }
}

bool starts_a_slice(const Json& trace, const Json& arrow_end) {
  const auto slices = of_type(trace, "X");
  return std::any_of(slices.begin(), slices.end(), [&](const Json& slice) {
    return row_of(slice) == row_of(arrow_end) && start_of(slice) == start_of(arrow_end);
  });
}

// Every arrow has one start and one end, and both lie on slices.
void expect_arrows_bind(const Json& trace) {
  std::map<std::uint64_t, int> ends;
  for (const char* type : {"s", "f"}) {
    for (const Json& end : of_type(trace, type)) {
      EXPECT_TRUE(starts_a_slice(trace, end)) << end;
      ends[end["id"].get<std::uint64_t>()] += type[0] == 's' ? 1 : 10;
    }
  }
  for (const auto& [id, sum] : ends) EXPECT_EQ(sum, 11) << "arrow " << id;
}

// Every row has a name, and no two of a process share one.
void expect_names(const Json& trace) {
  std::map<RowKey, std::string> names;
  std::map<std::uint32_t, std::string> processes;
  for (const Json& event : of_type(trace, "M")) {
    if (event["name"] == "thread_name") names[row_of(event)] = event["args"]["name"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  for (const char* type : {"X", "i"}) {
    for (const Json& event : of_type(trace, type)) {
      EXPECT_TRUE(names.contains(row_of(event))) << event;
      EXPECT_TRUE(processes.contains(event["pid"])) << event;
    }
  }
}

void expect_valid(const Json& trace) {
  expect_nesting(trace);
  expect_arrows_bind(trace);
  expect_names(trace);
}

TEST(Chrome, DrawsCallsWorkAndRanges) {
  const Json trace = exported({ordinary_file()});
  expect_valid(trace);
  EXPECT_EQ(of_type(trace, "X").size(), 5u);
  EXPECT_EQ(of_type(trace, "s").size(), 2u);
  EXPECT_EQ(of_type(trace, "i").size(), 1u);
  EXPECT_EQ(slice_named(trace, "kernel()")["cat"], "kernel");
}

TEST(Chrome, ACopyTellsItsSizeSpeedAndLine) {
  const Json copied = slice_named(exported({ordinary_file()}), "copy h2d (pageable > device)");
  EXPECT_EQ(copied["args"]["bytes"], 8000);
  EXPECT_EQ(copied["args"]["gb_per_s"], 2.0);
  EXPECT_EQ(copied["args"]["site"], "train.py:23");
  EXPECT_EQ(copied["args"]["stack"], Json::array({"train (/home/me/train.py:23)"}));
  EXPECT_EQ(copied["args"]["correlation"], 1);
}

TEST(Chrome, TimesKeepEveryNanosecond) {
  const Json trace = exported({ordinary_file()});
  EXPECT_EQ(trace["otherData"]["base_time_ns"], std::to_string(kStart));
  const Json upload = slice_named(trace, "cudaMemcpyAsync");
  EXPECT_EQ(start_of(upload), 1'001);
  EXPECT_EQ(end_of(upload), 5'002);
}

TEST(Chrome, RowsAndProcessesHaveNames) {
  const std::string text = exported({ordinary_file()}).dump();
  for (const char* name : {"python train.py (process 100)", "GPU 0: NVIDIA H100, used by", "stream 7 (default)",
                           "thread 100 (main)", "NVTX of thread 100 (main)"}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(Chrome, WhatOverlapsGetsRowsOfItsOwn) {
  File file = ordinary_file();
  file.add(range(3'000, 8'000, file.text("crossing")));
  file.add(copy(2'500, 8'500, 1));
  file.add(call(4'000, 7'000, 9, file.text("cudaFree")));
  expect_valid(exported({file}));
}

TEST(Chrome, EveryCopyOfAGraphHasAnArrowAndTheLineThatCapturedIt) {
  File file = ordinary_file();
  file.process.frames[2] = {trace::FrameKind::kPython, "capture", "/home/me/graph.py", 5, 1, 0};
  file.process.stacks[2] = {{2}, false};
  trace::GraphNodeRecord captured{};
  captured.node = 50;
  captured.stack = 2;
  file.add(captured);
  trace::GraphNodeRecord clone{};
  clone.node = 51;
  clone.cloned_from = 50;
  file.add(clone);
  file.add(call(20'000, 21'000, 30, file.text("cudaGraphLaunch")));
  for (const std::int64_t start : {22'000, 24'000}) {
    auto replayed = copy(start, start + 1'000, 30);
    replayed.graph_node = 51;
    file.add(replayed);
  }
  const Json trace = exported({file});
  expect_valid(trace);
  EXPECT_EQ(of_type(trace, "f").size(), 4u);
  EXPECT_THAT(trace.dump(), HasSubstr("graph.py:5"));
}

TEST(Chrome, ACircleOfClonesEnds) {
  File file = ordinary_file();
  for (const std::uint64_t node : {60, 61}) {
    trace::GraphNodeRecord clone{};
    clone.node = node;
    clone.cloned_from = node ^ 1;
    file.add(clone);
  }
  auto replayed = copy(22'000, 23'000, 1);
  replayed.graph_node = 60;
  file.add(replayed);
  expect_valid(exported({file}));
}

TEST(Chrome, WorkWithoutACallHasNoArrow) {
  File file = ordinary_file();
  file.add(copy(20'000, 21'000, 77));
  const Json trace = exported({file});
  expect_valid(trace);
  EXPECT_EQ(of_type(trace, "f").size(), 2u);
}

TEST(Chrome, RecordsWithoutTimesAreCountedNotDrawn) {
  File file = ordinary_file();
  auto untimed = copy(0, 0, 1);
  untimed.start_ns = untimed.end_ns = trace::kUnknownTime;
  file.records.insert(file.records.begin(), [=](trace::RecordSink& sink) { sink.on(untimed); });
  const Json trace = exported({file});
  expect_valid(trace);
  EXPECT_EQ(trace["otherData"]["records_without_times"], 1);
  EXPECT_EQ(of_type(trace, "X").size(), 5u);
}

TEST(Chrome, ProcessesOfTwoMachinesWithOneIdStayApart) {
  const Json trace = exported({ordinary_file(), ordinary_file()});
  expect_valid(trace);
  std::set<std::uint32_t> pids;
  for (const Json& slice : of_type(trace, "X")) pids.insert(slice["pid"].get<std::uint32_t>());
  EXPECT_EQ(pids.size(), 4u) << "two processes, and a device of each";
}

TEST(Chrome, LossesAreInTheFile) {
  File file = ordinary_file();
  file.process.losses[8] = 4;
  EXPECT_EQ(exported({file})["otherData"]["losses"]["stack_truncated"], 4);
}

TEST(Chrome, AnythingInAFileStaysValid) {
  File file = ordinary_file();
  file.process.metadata["program"] = "\xff\x1b\"\\\n";
  file.process.strings[1] = "\xff\x1b\"\\\n\x01";
  auto backward = copy(9'000, 8'000, 1);
  backward.device = backward.stream = trace::kUnknownId;
  file.add(backward);
  auto extreme = call(0, 0, 1, 4'000'000'000);
  extreme.start_ns = std::numeric_limits<std::int64_t>::min() + 1;
  extreme.end_ns = std::numeric_limits<std::int64_t>::max();
  extreme.thread = trace::kUnknownId;
  file.add(extreme);
  const Json trace = exported({file});
  expect_names(trace);
  EXPECT_EQ(of_type(trace, "X").size(), 7u);
}

TEST(Chrome, ARunWithoutRecordsIsAnEmptyTrace) {
  EXPECT_TRUE(of_type(exported({File{}}), "X").empty());
  EXPECT_TRUE(exported({})["traceEvents"].empty());
}

TEST(Chrome, RecordsAppendedBetweenTheReadingsAreLeftOut) {
  const File file = ordinary_file();
  std::vector<ChromeIndex> indexes(1);
  file.play(indexes[0]);
  indexes[0].finish(file.process);
  std::string text;
  ChromeExporter exporter(indexes, [&](std::string_view bytes) { text += bytes; });
  const auto sink = exporter.second_pass(0);
  file.play(*sink);
  sink->on(copy(2'500, 8'500, 1));
  exporter.close();
  EXPECT_EQ(of_type(Json::parse(text), "X").size(), 5u);
}

}  // namespace
}  // namespace turnpike::report
