// The export for trace viewers, against what the viewers ask of it.
#include "report/chrome/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/golden.h"
#include "trace/two_sinks.h"

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
  file.process.stacks.set(1, std::vector<std::uint32_t>{1});
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

std::string exported_text(const std::vector<File>& files) {
  std::vector<ChromeIndex> indexes(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].play(indexes[i]);
    indexes[i].finish(files[i].process);
  }
  std::string text;
  ChromeExporter exporter(indexes, [&](std::string_view bytes) { text += bytes; });
  for (std::size_t i = 0; i < files.size(); ++i) files[i].play(*exporter.second_pass(i));
  exporter.close();
  return text;
}

Json exported(const std::vector<File>& files) {
  return Json::parse(exported_text(files));
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
  file.process.stacks.set(2, std::vector<std::uint32_t>{2});
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

// The file with what the analysis says of its devices.
Json exported_with_idle(const File& file) {
  std::vector<ChromeIndex> indexes(1);
  analyze::TimelineLoader loader;
  trace::TwoSinks both(indexes[0], loader);
  file.play(both);
  indexes[0].finish(file.process, idle_lanes(file.process, loader.take()));
  std::string text;
  ChromeExporter exporter(indexes, [&](std::string_view bytes) { text += bytes; });
  file.play(*exporter.second_pass(0));
  exporter.close();
  return Json::parse(text);
}

TEST(Chrome, ShowsWhatEachDeviceWaitsFor) {
  const Json trace = exported_with_idle(ordinary_file());
  expect_nesting(trace);
  RowKey lane;
  for (const Json& event : of_type(trace, "M")) {
    if (event["args"].value("name", "") == "GPU 0 waits for") lane = row_of(event);
  }
  std::vector<Json> waits;
  for (const Json& slice : of_type(trace, "X")) {
    if (row_of(slice) == lane) waits.push_back(slice);
  }
  // The copy's call is the first record and holds the host; the kernel follows the copy at once.
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0]["name"], "copy");
  EXPECT_EQ(waits[0]["cat"], "idle");
  EXPECT_EQ(start_of(waits[0]), 1'001);
  EXPECT_EQ(end_of(waits[0]), 2'000);
  EXPECT_EQ(waits[0]["args"]["site"], "train.py:23");
  EXPECT_EQ(waits[0]["args"]["correlation"], 1);
  EXPECT_EQ(waits[1]["name"], "copies_only");
  EXPECT_EQ(start_of(waits[1]), 2'000);
  EXPECT_EQ(end_of(waits[1]), 6'000);
}

TEST(Chrome, HasNoIdleLanesWhereKernelsAreUnknown) {
  File file = ordinary_file();
  std::erase_if(file.records, [&](const auto& record) {
    analyze::TimelineLoader loader;
    record(loader);
    return !loader.take().kernels.empty();
  });
  const Json trace = exported_with_idle(file);
  for (const Json& event : of_type(trace, "M")) EXPECT_NE(event["args"].value("name", ""), "GPU 0 waits for");
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

// A rank of two, on two devices: every kind of record, each with all that it can tell, and values of its own.
File file_of_rank(std::uint32_t rank) {
  File file;
  const std::int64_t late = 100'000 * rank;
  const std::uint32_t main = 200 + rank;
  file.process.path = "run.tpk/" + std::to_string(main) + ".tpt";
  file.process.pid = main;
  if (rank == 0) file.process.metadata["program"] = "python\x1ftrain.py";
  file.process.metadata["rank"] = std::to_string(rank);
  file.process.losses[8] = 4 + rank;
  file.process.losses[999] = 40 + rank;
  file.process.frames[1] = {
      trace::FrameKind::kNative, "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b", "libtorch_cpu.so", 0, 0, 5};
  file.process.frames[2] = {trace::FrameKind::kPython, "train", "/home/me/train.py", 23, 1, 0};
  file.process.frames[3] = {trace::FrameKind::kPython, "main", "/home/me/train.py", 60, 1, 0};
  file.process.frames[4] = {trace::FrameKind::kPython, "capture", "/home/me/graph.py", 5, 1, 0};
  file.process.stacks.set(1, std::vector<std::uint32_t>{1, 2, 3});
  file.process.stacks.set(2, std::vector<std::uint32_t>{4, 99});
  auto upload = call(late + 1'001, late + 5'002, 11, file.text("cudaMemcpyAsync"));
  upload.thread = main;
  upload.stack = 1;
  upload.bytes = 8'001;
  upload.device = 0;
  upload.stream = 7;
  file.add(upload);
  auto failed = call(late + 5'103, late + 5'204, 12, file.text("cudaMemcpyPeerAsync"));
  failed.thread = main;
  failed.result = 2 + static_cast<std::int32_t>(rank);
  failed.autograd_role = trace::AutogradRole::kBackward;
  failed.stack = 1;
  file.add(failed);
  auto launch = call(late + 5'305, late + 5'406, 13, 0);
  launch.thread = main + 10;
  launch.kind = trace::CallKind::kLaunch;
  file.add(launch);
  auto wait = call(late + 5'507, late + 5'608, 14, file.text("cudaStreamSynchronize"));
  wait.thread = main;
  wait.kind = trace::CallKind::kSynchronize;
  file.add(wait);
  auto copied = copy(late + 2'000, late + 6'000, 11);
  copied.is_async = 1;
  copied.bytes = 8'002;
  file.add(copied);
  auto peer = copy(late + 6'101, late + 6'202, 12);
  peer.copy_kind = trace::CopyKind::kPeerToPeer;
  peer.src_kind = trace::MemoryKind::kDevice;
  peer.device = 1;
  peer.stream = 13;
  peer.src_device = 1;
  peer.dst_device = 2;
  peer.copy_count = 3;
  peer.graph_node = 51;
  file.add(peer);
  auto unknown = copy(late + 6'303, late + 6'303, 99);
  unknown.copy_kind = trace::CopyKind::kUnknown;
  unknown.src_kind = unknown.dst_kind = trace::MemoryKind::kUnknown;
  unknown.stream = unknown.device = trace::kUnknownId;
  file.add(unknown);
  trace::MemsetRecord memset{};
  memset.start_ns = kStart + late + 6'405;
  memset.end_ns = kStart + late + 6'806;
  memset.bytes = 1'203;
  memset.correlation = 14;
  memset.stream = 7;
  memset.value = 255;
  memset.memory_kind = trace::MemoryKind::kManaged;
  file.add(memset);
  trace::KernelRecord kernel{};
  kernel.start_ns = kStart + late + 6'907;
  kernel.end_ns = kStart + late + 9'008;
  kernel.correlation = 13;
  kernel.device = 1;
  kernel.stream = 14;
  kernel.name = file.text("_Z6kernelv");
  file.add(kernel);
  kernel.start_ns = kStart + late + 9'109;
  kernel.end_ns = kStart + late + 9'210;
  kernel.graph_node = 52;
  kernel.name = 0;
  file.add(kernel);
  auto named = range(late + 10, late + 7'011, file.text("step"));
  named.thread = main;
  named.end_thread = main + 10;
  named.domain = file.text("pytorch");
  file.add(named);
  auto mark = range(late + 1'012, late + 1'012, file.text("mark"));
  mark.thread = main + 10;
  file.add(mark);
  std::int64_t start = late + 20'000;
  for (const auto kind :
       {trace::MigrationKind::kHostToDevice, trace::MigrationKind::kDeviceToHost, trace::MigrationKind::kDeviceToDevice,
        trace::MigrationKind::kFault, static_cast<trace::MigrationKind>(77)}) {
    trace::MigrationRecord migration{};
    migration.start_ns = kStart + start;
    migration.end_ns = kStart + start + 50;
    migration.device = 1;
    migration.bytes = 4'096;
    migration.kind = kind;
    file.add(migration);
    start += 100;
  }
  auto untimed = copy(0, 0, 11);
  untimed.end_ns = trace::kUnknownTime;
  file.add(untimed);
  trace::GraphNodeRecord captured{};
  captured.node = 50;
  captured.stack = 2;
  file.add(captured);
  trace::GraphNodeRecord clone{};
  clone.node = 51;
  clone.cloned_from = 50;
  file.add(clone);
  file.add(trace::DeviceRecord{{}, 0, file.text("GPU model A"), 132, 0, 0, 0, 0, 0xFFFF});
  file.add(trace::DeviceRecord{{}, 1, 0, 132, 0, 0, 0, 0, 0xFFFF});
  file.add(trace::ThreadRecord{{}, main + 10, file.text("pt_autograd_0"), 0});
  file.add(trace::StreamRecord{{}, 0, 1, 7, 0, 1, {}});
  file.add(trace::StreamRecord{{}, 1, 1, 13, file.text("side stream"), 0, {}});
  return file;
}

TEST(Chrome, EveryFieldOfEveryRecordIsInTheFile) {
  std::string text = exported_text({file_of_rank(0), file_of_rank(1)});
  expect_valid(Json::parse(text));
  const std::string version = "turnpike " TURNPIKE_VERSION;
  ASSERT_NE(text.find(version), std::string::npos);
  text.replace(text.find(version), version.size(), "turnpike VERSION");
  expect_golden(text, "ranks.chrome.json");
}

TEST(Chrome, WorkIsOfThePhaseOfItsCall) {
  File file = ordinary_file();
  auto backward = call(20'000, 21'000, 30, file.text("cudaLaunchKernel"));
  backward.stack = 1;
  backward.autograd_role = trace::AutogradRole::kBackward;
  file.add(backward);
  auto moved = copy(22'000, 23'000, 30);
  moved.copy_kind = trace::CopyKind::kDeviceToHost;
  file.add(moved);
  EXPECT_EQ(slice_named(exported({file}), "copy d2h (pageable > device)")["args"]["phase"], "backward");
}

TEST(Chrome, ClonesAreFollowedSixteenTimes) {
  for (const bool is_known : {true, false}) {
    File file = ordinary_file();
    file.process.frames[2] = {trace::FrameKind::kPython, "capture", "/home/me/graph.py", 5, 1, 0};
    file.process.stacks.set(2, std::vector<std::uint32_t>{2});
    const std::uint64_t clones = is_known ? 15 : 16;
    for (std::uint64_t node = 0; node <= clones; ++node) {
      trace::GraphNodeRecord record{};
      record.node = 50 + node;
      record.stack = node == 0 ? 2 : trace::kNoId;
      record.cloned_from = node == 0 ? 0 : 49 + node;
      file.add(record);
    }
    auto replayed = copy(22'000, 23'000, 77);
    replayed.graph_node = 50 + clones;
    file.add(replayed);
    EXPECT_EQ(exported_text({file}).find("graph.py:5") != std::string::npos, is_known);
  }
}

TEST(Chrome, ProcessesWithoutAnIdGetOne) {
  File none = ordinary_file();
  none.process.pid = 0;
  File huge = ordinary_file();
  huge.process.pid = 10'000'000;
  File largest = ordinary_file();
  largest.process.pid = 9'999'999;
  std::vector<std::uint32_t> pids;
  for (const Json& event : of_type(exported({none, huge, largest}), "M")) {
    if (event["name"] == "process_name") pids.push_back(event["pid"].get<std::uint32_t>());
  }
  EXPECT_EQ(pids, (std::vector<std::uint32_t>{10'000'000, 10'000'001, 10'000'002, 10'000'003, 9'999'999, 10'000'004}));
}

TEST(Chrome, ThreadIdsThatNoSystemGivesAreReplaced) {
  for (const std::uint32_t thread : {99'999'999u, 100'000'000u}) {
    File file;
    file.process.pid = kMain;
    auto one = call(0, 10, 1, file.text("cudaFree"));
    one.thread = thread;
    file.add(one);
    // The id of the first row that has none of its own is the same.
    auto other = call(5, 15, 2, 1);
    other.thread = thread;
    file.add(other);
    std::vector<std::uint32_t> tids;
    for (const Json& slice : of_type(exported({file}), "X")) tids.push_back(slice["tid"].get<std::uint32_t>());
    ASSERT_EQ(tids.size(), 2u);
    EXPECT_EQ(tids[0], thread);
    EXPECT_EQ(tids[1], thread == 99'999'999u ? 100'000'000u : 100'000'001u);
  }
}

TEST(Chrome, OnlyCallsThatCanCauseWorkDo) {
  using trace::CallKind;
  const std::set<CallKind> causes = {CallKind::kOther,  CallKind::kCopy,        CallKind::kMemset,
                                     CallKind::kLaunch, CallKind::kGraphLaunch, CallKind::kPrefetch};
  for (int number = 0; number <= 15; ++number) {
    File file;
    file.process.pid = kMain;
    auto one = call(0, 10, 5, file.text("call"));
    one.kind = static_cast<CallKind>(number);
    file.add(one);
    file.add(copy(20, 30, 5));
    EXPECT_EQ(of_type(exported({file}), "s").size(), causes.contains(one.kind) ? 1u : 0u) << number;
  }
  File file;
  auto one = call(0, 10, 0, file.text("call"));
  file.add(one);
  file.add(copy(20, 30, 0));
  EXPECT_TRUE(of_type(exported({file}), "s").empty()) << "0 is no correlation";
}

std::vector<std::string> names_of_rows(const Json& trace, const char* kind = "thread_name") {
  std::vector<std::string> names;
  for (const Json& event : of_type(trace, "M")) {
    if (event["name"] == kind) names.push_back(event["args"]["name"]);
  }
  return names;
}

TEST(Chrome, RowsOfOneTrackAreNumbered) {
  File file;
  file.process.pid = kMain;
  for (const std::int64_t start : {0, 10, 20}) file.add(copy(start, start + 100, 0));
  EXPECT_EQ(names_of_rows(exported({file})), (std::vector<std::string>{"stream 7", "stream 7 (2)", "stream 7 (3)"}));
}

TEST(Chrome, AProcessIsNamedAfterItsProgramElseItsFile) {
  File file;
  file.process.pid = kMain;
  file.process.path = "runs/train.tpk/100.2.tpt";
  file.add(call(0, 10, 1, file.text("cudaFree")));
  EXPECT_EQ(names_of_rows(exported({file}), "process_name"), std::vector<std::string>{"100.2 (process 100)"});
  file.process.metadata["program"] = std::string(40, 'a') + "\x1f" + std::string(39, 'b');
  EXPECT_EQ(names_of_rows(exported({file}), "process_name")[0],
            std::string(40, 'a') + " " + std::string(39, 'b') + " (process 100)");
  file.process.metadata["program"] += "b";
  EXPECT_EQ(names_of_rows(exported({file}), "process_name")[0],
            std::string(25, 'a') + "..." + std::string(11, 'a') + " " + std::string(40, 'b') + " (process 100)");
}

TEST(Chrome, OfCallsWithOneCorrelationTheFirstIsTheCause) {
  File file;
  file.process.pid = kMain;
  file.add(call(50, 60, 9, file.text("later correlation")));
  file.add(call(10, 20, 5, file.text("first")));
  file.add(call(30, 40, 5, file.text("second")));
  file.add(call(70, 80, 3, file.text("earlier correlation")));
  file.add(copy(100, 200, 5));
  file.add(copy(300, 400, 4));
  const Json trace = exported({file});
  ASSERT_EQ(of_type(trace, "s").size(), 1u);
  EXPECT_EQ(start_of(of_type(trace, "s")[0]), 0) << "the first call is where the file begins";
}

TEST(Chrome, WorkThatEndsBeforeItStartsHasNoDurationAndNoSpeed) {
  File file;
  file.process.pid = kMain;
  auto backwards = copy(500, 400, 0);
  file.add(backwards);
  const Json slice = slice_named(exported({file}), "copy h2d (pageable > device)");
  EXPECT_EQ(slice["dur"], 0);
  EXPECT_FALSE(slice["args"].contains("gb_per_s"));
}

TEST(Chrome, ARecordWithoutAStartOrAnEndIsNotDrawn) {
  for (const bool has_start : {true, false}) {
    File file;
    file.process.pid = kMain;
    auto untimed = call(0, 10, 1, file.text("cudaFree"));
    (has_start ? untimed.end_ns : untimed.start_ns) = trace::kUnknownTime;
    file.add(untimed);
    file.add(copy(20, 30, 1));
    const Json trace = exported({file});
    EXPECT_EQ(trace["otherData"]["records_without_times"], 1);
    EXPECT_EQ(of_type(trace, "X").size(), 1u);
    EXPECT_TRUE(of_type(trace, "s").empty());
  }
}

}  // namespace
}  // namespace turnpike::report
