// Exports of Nsight Systems become the same records as our own recordings, whatever their schema.
#include "ingest/nsys/nsys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/nsys/names.h"
#include "ingest/nsys/ranges.h"
#include "ingest/nsys/stacks.h"
#include "ingest/nsys_database.h"

namespace turnpike::ingest {
namespace {

using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

// A pageable upload, a kernel and a wait for stream 7.
std::string small_program(Schema schema) {
  std::string sql = tables_of(schema) + string_id(1, "cudaMemcpyAsync_v3020") + string_id(2, "cudaLaunchKernel_v7000") +
                    string_id(3, "cudaStreamSynchronize_v3020") + string_id(4, "add<float>") + string_id(5, "add") +
                    row(kRuntime, call(1, 11, 100, 150)) + row(kRuntime, call(2, 12, 160, 165)) +
                    row(kRuntime, call(3, 13, 170, 400)) +
                    row(kKernel, with(work(12, 300, 390), {{"demangledName", "4"}, {"shortName", "5"}})) +
                    row(kSync, with(work(13, 171, 399), {{"syncType", "3"}, {"eventId", "4294967295"}})) +
                    row(kMemset, with(work(14, 391, 392), {{"value", "0"}, {"bytes", "64"}}));
  auto copy = with(work(11, 200, 300), {{"bytes", "4096"}, {"copyKind", "1"}});
  if (schema != Schema::k2) copy = with(copy, {{"srcKind", "0"}, {"dstKind", "2"}});
  return sql + row(kMemcpy, copy);
}

class EverySchema : public testing::TestWithParam<Schema> {};

TEST_P(EverySchema, GivesTheSameRecords) {
  const ReadExport read = read_sql(small_program(GetParam()));
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_TRUE(read.processes[0].losses.empty());
  EXPECT_EQ(read.processes[0].pid, 77u);
  const Collected& records = read.records[0];
  ASSERT_EQ(records.calls.size(), 3u);
  EXPECT_EQ(read.text(records.calls[0].name), "cudaMemcpyAsync");
  EXPECT_EQ(records.calls[0].kind, CallKind::kCopy);
  EXPECT_EQ(records.calls[0].thread, 78u);
  EXPECT_EQ(records.calls[0].correlation, 11u);
  EXPECT_EQ(records.calls[0].start_ns, 100);
  EXPECT_EQ(records.calls[0].end_ns, 150);
  EXPECT_EQ(records.calls[0].bytes, trace::kUnknownSize);
  EXPECT_EQ(records.calls[1].kind, CallKind::kLaunch);
  EXPECT_EQ(records.calls[2].kind, CallKind::kSynchronize);
  EXPECT_EQ(records.calls[2].stream, 7u);
  EXPECT_EQ(records.calls[2].context, 1u);
  EXPECT_EQ(records.calls[2].device, trace::kUnknownId);
  ASSERT_EQ(records.copies.size(), 1u);
  const trace::MemcpyRecord& copy = records.copies[0];
  EXPECT_EQ(copy.bytes, 4096u);
  EXPECT_EQ(copy.copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copy.src_kind, GetParam() == Schema::k2 ? MemoryKind::kUnknown : MemoryKind::kPageable);
  EXPECT_EQ(copy.dst_kind, GetParam() == Schema::k2 ? MemoryKind::kUnknown : MemoryKind::kDevice);
  EXPECT_EQ(copy.is_async, 1);
  EXPECT_EQ(copy.src_device, trace::kUnknownId);
  EXPECT_EQ(copy.copy_count, 1u);
  EXPECT_EQ(copy.stream, 7u);
  EXPECT_EQ(copy.start_ns, 200);
  ASSERT_EQ(records.kernels.size(), 1u);
  EXPECT_EQ(read.text(records.kernels[0].name), "add<float>");
  EXPECT_EQ(records.kernels[0].correlation, 12u);
  ASSERT_EQ(records.memsets.size(), 1u);
  EXPECT_EQ(records.memsets[0].bytes, 64u);
}

INSTANTIATE_TEST_SUITE_P(NsysReader, EverySchema,
                         testing::Values(Schema::k2, Schema::k3_16, Schema::k3_25, Schema::k3_28));

std::string copy_of_kinds(int correlation, int copy_kind, int src_kind, int dst_kind) {
  return row(kMemcpy, with(work(correlation, 1, 2), {{"bytes", "8"},
                                                     {"copyKind", number(copy_kind)},
                                                     {"srcKind", number(src_kind)},
                                                     {"dstKind", number(dst_kind)}}));
}

// A file cut to a window of time: the copy's call lies before it.
TEST(NsysReader, KeepsWhatIsKnownOfACopyWhoseCallWasCutOff) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_28) + string_id(1, "cudaMemcpyAsync_v3020") + row(kRuntime, call(1, 12, 100, 150)) +
               row(kMemcpy, with(work(11, 90, 120),
                                 {{"bytes", "4096"}, {"copyKind", "1"}, {"srcKind", "1"}, {"dstKind", "2"}})));
  ASSERT_EQ(read.records.size(), 1u) << read.error;
  ASSERT_EQ(read.records[0].copies.size(), 1u);
  const trace::MemcpyRecord& copy = read.records[0].copies[0];
  EXPECT_EQ(copy.correlation, 11u);
  EXPECT_EQ(copy.bytes, 4096u);
  EXPECT_EQ(copy.copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copy.src_kind, MemoryKind::kPinned);
  EXPECT_EQ(copy.stream, 7u);
}

TEST(NsysReader, TakesDocumentedNumbersWhereTheFileHasNoEnums) {
  const ReadExport read = read_sql(tables_of(Schema::k3_25) + copy_of_kinds(1, 1, 0, 2) + copy_of_kinds(2, 2, 2, 1) +
                                   copy_of_kinds(3, 10, 7, 4) + copy_of_kinds(4, 99, 99, 5));
  const auto& copies = read.records.at(0).copies;
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[0].src_kind, MemoryKind::kPageable);
  EXPECT_EQ(copies[0].dst_kind, MemoryKind::kDevice);
  EXPECT_EQ(copies[1].copy_kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(copies[1].dst_kind, MemoryKind::kPinned);
  EXPECT_EQ(copies[2].copy_kind, CopyKind::kPeerToPeer);
  EXPECT_EQ(copies[2].src_kind, MemoryKind::kUnknown);
  EXPECT_EQ(copies[2].dst_kind, MemoryKind::kManaged);
  EXPECT_EQ(copies[3].copy_kind, CopyKind::kUnknown);
  EXPECT_EQ(copies[3].src_kind, MemoryKind::kUnknown);
  EXPECT_EQ(copies[3].dst_kind, MemoryKind::kDeviceStatic);
}

TEST(NsysReader, BelievesTheEnumsOfTheFile) {
  const std::string enums =
      "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0,'CUDA_MEMOPR_MEMORY_KIND_PINNED','x'),(1,'y','Pageable');"
      "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1,'CUDA_MEMCPY_KIND_DTOH','z'),(40,'z','Host-to-Device');";
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + enums + copy_of_kinds(1, 1, 2, 0) + copy_of_kinds(2, 40, 1, 2));
  const auto& copies = read.records.at(0).copies;
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].copy_kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(copies[0].dst_kind, MemoryKind::kPinned);
  EXPECT_EQ(copies[0].src_kind, MemoryKind::kUnknown) << "2 is no kind in this file";
  EXPECT_EQ(copies[1].copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copies[1].src_kind, MemoryKind::kPageable);
}

TEST(NsysReader, KeepsProcessesWithEqualNumbersApart) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaStreamSynchronize_v3020") + string_id(2, "cudaMemcpy_v3020") +
      row(kRuntime, call(1, 5, 10, 20)) +
      row(kRuntime, with(call(2, 5, 10, 20), {{"globalTid", number(kOtherProcess | 90)}})) +
      row(kSync, with(work(5, 11, 19), {{"syncType", "3"}, {"eventId", "4294967295"}})) +
      row(kMemcpy, with(work(5, 12, 13), {{"bytes", "3"}, {"copyKind", "1"}, {"globalPid", number(kOtherProcess)}})));
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.records[0].calls.at(0).stream, 7u);
  EXPECT_TRUE(read.records[0].copies.empty());
  EXPECT_EQ(read.records[1].calls.at(0).stream, trace::kUnknownId);
  EXPECT_EQ(read.records[1].copies.at(0).bytes, 3u);
  EXPECT_EQ(read.records[1].copies.at(0).is_async, 0);
  EXPECT_EQ(read.text(read.records[1].calls.at(0).name, 1), "cudaMemcpy");
}

TEST(NsysReader, SaysWhichEventACallIsAbout) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaStreamWaitEvent_v3020") + string_id(2, "cudaEventRecord_v3020") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
      "INTEGER,"
      " correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL);" +
      row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {{"correlationId", "1"},
                                             {"globalPid", number(kProcess)},
                                             {"contextId", "1"},
                                             {"streamId", "13"},
                                             {"eventId", "7197"}}) +
      row(kRuntime, call(2, 1, 10, 11)) + row(kRuntime, call(1, 2, 12, 13)) +
      row(kSync, with(work(2, 12, 13), {{"syncType", "2"}, {"eventId", "7197"}, {"streamId", "22"}})));
  const auto& calls = read.records.at(0).calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].kind, CallKind::kEventRecord);
  EXPECT_EQ(calls[0].object, 7197u);
  EXPECT_EQ(calls[0].stream, 13u);
  EXPECT_EQ(calls[1].kind, CallKind::kStreamWait);
  EXPECT_EQ(calls[1].object, 7197u);
  EXPECT_EQ(calls[1].stream, 22u);
}

TEST(NsysReader, TakesOneCallWhereTheRuntimeCalledTheDriver) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cuMemcpyHtoDAsync_v2") + string_id(2, "cudaMemcpyAsync_ptsz_v7000") +
      row(kRuntime, with(call(1, 5, 11, 19), {{"eventClass", "1"}})) + row(kRuntime, call(2, 5, 10, 20)) +
      row(kRuntime, with(call(1, 6, 30, 40), {{"eventClass", "1"}})));
  const auto& calls = read.records.at(0).calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(read.text(calls[0].name), "cudaMemcpyAsync");
  EXPECT_EQ(calls[0].api, trace::Api::kRuntime);
  EXPECT_EQ(read.text(calls[1].name), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(calls[1].api, trace::Api::kDriver);
  EXPECT_EQ(calls[1].correlation, 6u);
}

TEST(NsysReader, PutsTimesOnTheClockOfTheDay) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, -50, 20)) +
               "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"
               "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, 'x');");
  EXPECT_EQ(read.records.at(0).calls.at(0).start_ns, 1'699'999'999'999'999'950);
  EXPECT_EQ(read.records.at(0).calls.at(0).end_ns, 1'700'000'000'000'000'020);
  EXPECT_EQ(read.processes.at(0).start_realtime_ns, 1'700'000'000'000'000'000);
}

TEST(NsysReader, KeepsTimesOfTheSessionWhereItsStartIsUnknown) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, -50, 20)));
  EXPECT_EQ(read.records.at(0).calls.at(0).start_ns, -50);
  EXPECT_EQ(read.processes.at(0).start_realtime_ns, trace::kUnknownTime);
}

TEST(NsysReader, GivesManagedMemoryThatMovedAsMigrations) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) +
      row(kMemcpy, with(work(0, 5, 9), {{"bytes", "65536"}, {"copyKind", "11"}, {"virtualAddress", "4096"}})) +
      row(kMemcpy, with(work(0, 9, 11), {{"bytes", "4096"}, {"copyKind", "12"}})) +
      "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER "
      "NOT NULL);" +
      row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", {{"start", "8"}, {"globalPid", number(kProcess)}, {"address", "8192"}}));
  EXPECT_TRUE(read.records.at(0).copies.empty());
  const auto& migrations = read.records.at(0).migrations;
  ASSERT_EQ(migrations.size(), 3u);
  EXPECT_EQ(migrations[0].kind, trace::MigrationKind::kHostToDevice);
  EXPECT_EQ(migrations[0].bytes, 65536u);
  EXPECT_EQ(migrations[0].address, 4096u);
  EXPECT_EQ(migrations[1].kind, trace::MigrationKind::kDeviceToHost);
  EXPECT_EQ(migrations[2].kind, trace::MigrationKind::kFault);
  EXPECT_EQ(migrations[2].bytes, trace::kUnknownSize);
}

TEST(NsysReader, SaysThatAGraphRecordedAsOnePieceHidesItsCopies) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaGraphLaunch_v10000") + row(kRuntime, call(1, 1, 1, 2)) +
               "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "
               "INTEGER, contextId "
               "INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL, "
               "graphExecId INTEGER);" +
               row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with(work(1, 3, 9), {{"graphId", "17"}})));
  EXPECT_EQ(read.records.at(0).calls.at(0).kind, CallKind::kGraphLaunch);
  ASSERT_EQ(read.records[0].kernels.size(), 1u);
  EXPECT_EQ(read.records[0].kernels[0].graph, 17u);
  EXPECT_EQ(read.text(read.records[0].kernels[0].name), "CUDA graph");
  EXPECT_EQ(read.lost(trace::Loss::kHiddenGraphCopies), 1u);
}

TEST(NsysReader, GivesNodesOfGraphsTheirOrigin) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + copy_of_kinds(1, 1, 0, 2) +
               "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET graphNodeId = 8589934593;"
               "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER, globalTid "
               "INTEGER, nameId INTEGER, "
               "graphNodeId INTEGER, originalGraphNodeId INTEGER);" +
               row("CUDA_GRAPH_NODE_EVENTS", {{"start", "5"}, {"globalTid", number(kThread)}, {"graphNodeId", "3"}}) +
               row("CUDA_GRAPH_NODE_EVENTS", {{"start", "6"},
                                              {"globalTid", number(kThread)},
                                              {"graphNodeId", "8589934593"},
                                              {"originalGraphNodeId", "3"}}) +
               row(kNvtx, {{"start", "4"},
                           {"end", "6"},
                           {"eventType", "59"},
                           {"text", "'aten::copy_, op_id = 3'"},
                           {"globalTid", number(kThread)}}));
  EXPECT_EQ(read.records.at(0).copies.at(0).graph_node, 8589934593u);
  const auto& nodes = read.records[0].nodes;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].node, 3u);
  EXPECT_EQ(nodes[0].cloned_from, 0u);
  EXPECT_NE(nodes[0].stack, trace::kNoId);
  EXPECT_EQ(nodes[1].cloned_from, 3u);
  EXPECT_EQ(nodes[1].stack, trace::kNoId);
}

std::map<std::string, std::string> range(std::int64_t start_ns, std::int64_t end_ns, const std::string& text) {
  return {{"start", number(start_ns)},
          {"end", number(end_ns)},
          {"eventType", "59"},
          {"text", "'" + text + "'"},
          {"globalTid", number(kThread)}};
}

TEST(NsysReader, ReadsRangesOfTheProgram) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_28) + string_id(1, "cudaMalloc_v3020") + string_id(2, "step") +
               row(kRuntime, call(1, 1, 1, 2)) +
               row(kNvtx, with(range(10, 20, ""),
                               {{"text", "NULL"}, {"textId", "2"}, {"color", "4278190335"}, {"domainId", "0"}})) +
               row(kNvtx, with(range(10, 20, "inside"),
                               {{"eventType", "60"}, {"endGlobalTid", number(kProcess | 79)}, {"domainId", "4"}})) +
               row(kNvtx, with(range(12, 0, "now"), {{"eventType", "34"}, {"end", "NULL"}})) +
               row(kNvtx, with(range(13, 0, "never ends"), {{"end", "NULL"}})) +
               row(kNvtx, with(range(1, 0, "my domain"), {{"eventType", "75"}, {"end", "NULL"}, {"domainId", "4"}})) +
               row(kNvtx, with(range(1, 0, "worker"), {{"eventType", "39"}, {"end", "NULL"}})) +
               row(kNvtx, with(range(5, 6, "of a process without CUDA"), {{"globalTid", number(kOtherProcess | 1)}})));
  ASSERT_EQ(read.processes.size(), 1u);
  const auto& ranges = read.records[0].ranges;
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(read.text(ranges[0].name), "step");
  EXPECT_EQ(ranges[0].color, 0xFF0000FFu);
  EXPECT_EQ(ranges[0].domain, trace::kNoId);
  EXPECT_EQ(ranges[0].thread, 78u);
  EXPECT_EQ(read.text(ranges[1].name), "inside");
  EXPECT_EQ(read.text(ranges[1].domain), "my domain");
  EXPECT_EQ(ranges[1].end_thread, 79u);
  EXPECT_EQ(ranges[2].start_ns, 12);
  EXPECT_EQ(ranges[2].end_ns, 12);
  ASSERT_EQ(read.records[0].threads.size(), 1u);
  EXPECT_EQ(read.text(read.records[0].threads[0].name), "worker");
}

std::vector<std::string> frames_of(const ReadExport& read, std::uint32_t stack) {
  std::vector<std::string> names;
  const trace::Process& process = read.processes.at(0);
  if (!process.stacks.contains(stack)) return names;
  for (const std::uint32_t id : process.stacks.at(stack).frames) {
    const trace::Frame& frame = process.frames.at(id);
    const char* kind = frame.kind == trace::FrameKind::kPython     ? "python "
                       : frame.kind == trace::FrameKind::kOperator ? "operator "
                                                                   : "native ";
    names.push_back(kind + frame.function + (frame.file.empty() ? "" : " in " + frame.file) +
                    (frame.line == 0 ? "" : ":" + number(frame.line)));
  }
  return names;
}

TEST(NsysReader, TakesOperatorsFromTheRangesOfPyTorch) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMemcpyAsync_v3020") + row(kNvtx, range(0, 100, "train, op_id = 1")) +
      row(kNvtx, range(10, 50, "aten::to, op_id = 2, sizes = [[8]]")) +
      row(kNvtx, range(20, 40, "aten::copy_, seq = 7, op_id = 3")) +
      row(kNvtx, range(60, 90, "autograd::engine::evaluate_function: MulBackward0, seq = 4, op_id = 4")) +
      row(kNvtx, range(61, 89, "MulBackward0, seq = 4, op_id = 5")) +
      row(kNvtx, range(62, 80, "aten::mul, seq = 9, op_id = 6")) + row(kRuntime, call(1, 1, 25, 30)) +
      row(kRuntime, call(1, 2, 45, 46)) + row(kRuntime, call(1, 3, 65, 66)) + row(kRuntime, call(1, 4, 95, 96)) +
      row(kRuntime, with(call(1, 5, 25, 30), {{"globalTid", number(kThread + 1)}})));
  const auto& calls = read.records.at(0).calls;
  ASSERT_EQ(calls.size(), 5u);
  EXPECT_THAT(frames_of(read, calls[0].stack), testing::ElementsAre("operator aten::copy_", "operator aten::to"));
  EXPECT_EQ(calls[0].autograd_role, trace::AutogradRole::kForward);
  EXPECT_EQ(calls[0].autograd_sequence, 8u) << "its own node has taken 7";
  EXPECT_THAT(frames_of(read, calls[1].stack), testing::ElementsAre("operator aten::to"));
  EXPECT_EQ(calls[1].autograd_role, trace::AutogradRole::kUnknown);
  EXPECT_THAT(frames_of(read, calls[2].stack), testing::ElementsAre("operator aten::mul"));
  EXPECT_EQ(calls[2].autograd_role, trace::AutogradRole::kBackward);
  EXPECT_EQ(calls[2].autograd_sequence, 4u);
  EXPECT_EQ(calls[3].stack, trace::kNoId);
  EXPECT_EQ(calls[4].stack, trace::kNoId) << "another thread";
  ASSERT_EQ(read.records[0].ranges.size(), 1u) << "operators are no ranges of the program";
  EXPECT_EQ(read.text(read.records[0].ranges[0].name), "train");
}

TEST(NsysReader, SamplesWhereAThreadWasWhileAnOperatorWasOpen) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMemcpyAsync_v3020") + row(kRuntime, call(1, 1, 25, 30)) +
               row(kNvtx, range(0, 1'000'000, "aten::to, op_id = 2")) +
               row(kNvtx, range(200'000, 600'000, "aten::copy_, op_id = 3")) +
               row(kNvtx, range(1'800'000, 2'000'000, "aten::mul, op_id = 4")));
  std::vector<std::pair<std::int64_t, std::vector<std::string>>> seen;
  for (const trace::SampleRecord& sample : read.records.at(0).samples) {
    EXPECT_EQ(sample.thread, 78u);
    seen.emplace_back(sample.time_ns, frames_of(read, sample.stack));
  }
  const std::vector<std::string> outer = {"operator aten::to"};
  const std::vector<std::string> inner = {"operator aten::copy_", "operator aten::to"};
  EXPECT_THAT(seen, testing::ElementsAre(testing::Pair(100'000, outer), testing::Pair(300'000, inner),
                                         testing::Pair(500'000, inner), testing::Pair(700'000, outer),
                                         testing::Pair(900'000, outer),
                                         testing::Pair(1'900'000, std::vector<std::string>{"operator aten::mul"})));
}

TEST(NsysReader, SamplesNothingOfProcessesWithoutCuda) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMemcpyAsync_v3020") + row(kRuntime, call(1, 1, 25, 30)) +
      row(kNvtx, with(range(0, 1'000'000, "aten::to, op_id = 2"), {{"globalTid", number(kOtherProcess | 78)}})));
  ASSERT_EQ(read.records.size(), 1u) << read.error;
  EXPECT_TRUE(read.records[0].samples.empty());
}

TEST(NsysReader, TellsOperatorsThatMadeNoNodeOfAutograd) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaLaunchKernel_v7000") +
               row(kNvtx, range(10, 20, "aten::detach, seq = 5, op_id = 1")) +
               row(kNvtx, range(30, 50, "aten::linear, seq = 5, op_id = 2")) +
               row(kNvtx, range(31, 40, "aten::addmm, seq = 5, op_id = 3")) + row(kRuntime, call(1, 1, 12, 13)) +
               row(kRuntime, call(1, 2, 35, 36)) + row(kRuntime, call(1, 3, 45, 46)));
  const auto& calls = read.records.at(0).calls;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].autograd_sequence, 5u) << "node 5 was made later";
  EXPECT_EQ(calls[1].autograd_sequence, 6u);
  EXPECT_EQ(calls[2].autograd_sequence, 6u);
}

TEST(NsysReader, TakesStacksFromCallchains) {
  const std::string chains =
      "CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved "
      "INTEGER, "
      "originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
      "INSERT INTO CUDA_CALLCHAINS VALUES "
      "(1,11,21,NULL,NULL,1),(1,10,20,NULL,NULL,0),(1,12,22,NULL,NULL,2),(1,13,20,1,5,3),"
      "(2,10,20,NULL,NULL,0),(2,11,21,NULL,NULL,1),(2,12,22,NULL,NULL,2),(2,13,20,1,5,3);";
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMemcpyAsync_v3020") + string_id(10, "cudaMemcpyAsync") +
      string_id(11, "at::_ops::copy_::call(at::Tensor&, at::Tensor const&, bool)") + string_id(12, "train") +
      string_id(13, "0x7f12") + string_id(20, "/lib/libcudart.so.12") + string_id(21, "/lib/libtorch_cpu.so") +
      string_id(22, "/home/me/train.py:12") + chains + row(kRuntime, with(call(1, 1, 1, 2), {{"callchainId", "1"}})) +
      row(kRuntime, with(call(1, 2, 3, 4), {{"callchainId", "2"}})) +
      row(kRuntime, with(call(1, 3, 5, 6), {{"callchainId", "0"}})) +
      row(kRuntime, with(call(1, 4, 7, 8), {{"callchainId", "9"}})));
  const auto& calls = read.records.at(0).calls;
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_THAT(frames_of(read, calls[0].stack),
              testing::ElementsAre("native cudaMemcpyAsync in /lib/libcudart.so.12",
                                   "native _ZN2at4_ops5copy_4callE in /lib/libtorch_cpu.so",
                                   "python train in /home/me/train.py:12", "native  in /lib/libcudart.so.12"));
  EXPECT_EQ(calls[1].stack, calls[0].stack) << "chains with the same frames are one stack";
  EXPECT_EQ(calls[2].stack, trace::kNoId);
  EXPECT_EQ(calls[3].stack, trace::kNoId);
  EXPECT_EQ(read.lost(trace::Loss::kUndefinedReference), 1u);
}

TEST(NsysReader, NumbersDevicesAsTheProcessSawThem) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount "
      "INTEGER);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0,'A100','0000:07:00.0',10,108),(3,'H100','0000:c4:00.0',85520809984,132);"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3,0,77),(0,0,99);");
  const auto& devices = read.records.at(0).devices;
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].device, 0u);
  EXPECT_EQ(read.text(devices[0].name), "H100");
  EXPECT_EQ(devices[0].memory_bytes, 85520809984u);
  EXPECT_EQ(devices[0].multiprocessors, 132u);
  EXPECT_EQ(devices[0].pci_bus, 0xC4);
}

TEST(NsysReader, GivesDevicesThatWorkedWithoutAName) {
  const ReadExport read = read_sql(tables_of(Schema::k3_25) + copy_of_kinds(1, 1, 0, 2) + copy_of_kinds(2, 1, 0, 2));
  const auto& devices = read.records.at(0).devices;
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].device, 0u);
  EXPECT_EQ(devices[0].name, trace::kNoId);
}

TEST(NsysReader, KnowsTheDefaultStreams) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
               "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER, "
               "processId INTEGER, deviceId "
               "INTEGER, contextId INTEGER);"
               "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7,0,1,77,2,1),(9,0,1,99,0,1);"
               "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, "
               "contextId INTEGER, "
               "priority INTEGER, flag INTEGER);"
               "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (13,0,1,77,1,0,2),(13,0,2,77,1,0,2);");
  const auto& streams = read.records.at(0).streams;
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].stream, 7u);
  EXPECT_EQ(streams[0].is_default, 1);
  EXPECT_EQ(streams[0].device, 2u);
  EXPECT_EQ(streams[1].stream, 13u);
  EXPECT_EQ(streams[1].is_default, 0);
  EXPECT_EQ(streams[1].device, 2u) << "that of its context";
}

TEST(NsysReader, TakesCommandAndRankWhereTheyAreOfOneProcess) {
  const std::string capture =
      "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
      "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND','python'),('PROCESS_0:ARGUMENT_1','--lr=1'),"
      "('PROCESS_0:ARGUMENT_0','train.py'),('PROCESS_0:ENVIRONMENT_VARIABLE','RANK=\"3\"');"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0');";
  const std::string one =
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) + capture;
  const ReadExport alone = read_sql(one);
  EXPECT_EQ(alone.processes.at(0).metadata.at("program"), "python\x1ftrain.py\x1f--lr=1");
  EXPECT_EQ(alone.processes.at(0).metadata.at("rank"), "3");
  EXPECT_EQ(alone.processes.at(0).metadata.at("nsys_schema_version"), "3.25.0");
  const ReadExport two =
      read_sql(one + row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(kOtherProcess | 5)}})));
  ASSERT_EQ(two.processes.size(), 2u);
  EXPECT_FALSE(two.processes[0].metadata.contains("rank")) << "whose it is cannot be told";
}

TEST(NsysReader, ReportsProgressInBytesOfTheFile) {
  std::string sql = tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + "BEGIN;";
  for (int i = 0; i < 9000; ++i) sql += row(kRuntime, call(1, i, i, i + 1));
  const TemporaryFolder folder;
  write_database(folder / "a.sqlite", sql + "COMMIT;");
  Collected sink;
  std::vector<std::uint64_t> done;
  const std::uint64_t size_bytes = std::filesystem::file_size(folder / "a.sqlite");
  const auto read = read_nsys(
      folder / "a.sqlite", [&]() -> trace::RecordSink& { return sink; },
      [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
        EXPECT_EQ(total_bytes, size_bytes);
        done.push_back(done_bytes);
      });
  ASSERT_TRUE(read.has_value());
  ASSERT_GE(done.size(), 2u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(done.front(), 0u);
  EXPECT_LE(done.back(), size_bytes);
}

TEST(NsysNames, LoseTheVersionOfCupti) {
  EXPECT_EQ(without_api_version("cudaMemcpyAsync_v3020"), "cudaMemcpyAsync");
  EXPECT_EQ(without_api_version("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(without_api_version("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(without_api_version("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(without_api_version("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(without_api_version("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(without_api_version(""), "");
}

TEST(NsysNames, OfPyTorchEndBeforeTheirNumbers) {
  EXPECT_EQ(torch_name("aten::mul, seq = 12, op_id = 3")->name, "aten::mul");
  EXPECT_EQ(torch_name("aten::mul, seq = 12, op_id = 3")->sequence, 12u);
  EXPECT_EQ(torch_name("aten::mul, op_id = 3, sizes = [[2], []]")->name, "aten::mul");
  EXPECT_EQ(torch_name("aten::mul, op_id = 3")->sequence, std::nullopt);
  EXPECT_EQ(torch_name("a step, of mine"), std::nullopt);
}

TEST(NsysNames, OfFunctionsAreMadeIntoThoseOfTheLinker) {
  EXPECT_EQ(linker_name("at::_ops::copy_::call(at::Tensor&, bool)"), "_ZN2at4_ops5copy_4callE");
  EXPECT_EQ(linker_name("void at::native::run<float, 4>(int) const"), "_ZN2at6native3runE");
  EXPECT_EQ(linker_name("main"), "main");
  EXPECT_EQ(linker_name("_ZN2at3addE"), "_ZN2at3addE");
  EXPECT_EQ(linker_name("at::operator==(int)"), "at::operator==(int)");
  EXPECT_EQ(linker_name("??"), "??");
  EXPECT_EQ(linker_name(""), "");
}

}  // namespace
}  // namespace turnpike::ingest
