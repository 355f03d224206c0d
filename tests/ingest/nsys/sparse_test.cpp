// Exports that have no more than they must: columns that a version lacks, and values that it leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/nsys/stacks.h"
#include "ingest/nsys_database.h"
#include "ingest/record_text.h"

namespace turnpike::ingest {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// A call of a process whose machine and virtual machine are 0, as tables without these columns mean it.
constexpr std::int64_t kPlainThread = std::int64_t{77} << 24 | 78;

std::string plain_call() {
  return tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") +
         row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(kPlainThread)}}));
}

std::string plain_range(const std::string& text, std::int64_t start_ns, std::int64_t end_ns) {
  return row(kNvtx, {{"start", number(start_ns)},
                     {"end", number(end_ns)},
                     {"eventType", "59"},
                     {"text", "'" + text + "'"},
                     {"globalTid", number(kPlainThread)}});
}

TEST(NsysSparse, ContextsAndStreamsWithoutAMachine) {
  const ReadExport read = read_sql(
      plain_call() +
      "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (contextId INTEGER, processId INTEGER, nullStreamId INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (5,77,7),(6,78,8);"
      "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, processId INTEGER, contextId INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (9,77,5);");
  EXPECT_THAT(
      texts_of(read.records.at(0).streams, read.processes.at(0)),
      UnorderedElementsAre(" device=? context=5 stream=7 default=1 ", " device=? context=5 stream=9 default=0 "));
}

TEST(NsysSparse, GpusWithANameAlone) {
  const ReadExport read =
      read_sql(plain_call() +
               "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT); INSERT INTO TARGET_INFO_GPU VALUES (3,'H100');"
               "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
               "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3,1,77);");
  EXPECT_THAT(texts_of(read.records.at(0).devices, read.processes.at(0)),
              ElementsAre("H100 device=1 multiprocessors=0 memory=0 domain=0 bus=0 slot=0 numa=65535 "));
}

TEST(NsysSparse, FaultsNodesAndSynchronisationsOfFewColumns) {
  const ReadExport read = read_sql(
      plain_call() + plain_range("aten::x, op_id = 1", 10, 20) +
      "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER);"
      "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER);"
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, globalTid INTEGER, graphNodeId INTEGER);" +
      row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", {{"start", "5"}, {"globalPid", number(kPlainThread)}}) +
      row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {{"start", "6"}, {"globalPid", number(kPlainThread)}}) +
      row("CUDA_GRAPH_NODE_EVENTS", {{"start", "15"}, {"globalTid", number(kPlainThread)}, {"graphNodeId", "8"}}) +
      row("CUDA_GRAPH_NODE_EVENTS", {{"start", "20"}, {"globalTid", number(kPlainThread)}, {"graphNodeId", "9"}}));
  const std::string fault = "device=? start=5 end=5 bytes=? address=0 kind=4 ";
  EXPECT_THAT(texts_of(read.records.at(0).migrations, read.processes.at(0)),
              ElementsAre(fault, "device=? start=6 end=6 bytes=? address=0 kind=4 "));
  EXPECT_THAT(texts_of(read.records[0].nodes, read.processes[0]),
              ElementsAre("node=8 cloned_from=0 stack ", "node=9 cloned_from=0 no stack "));
}

// A node that was cloned of none was made here.
TEST(NsysSparse, NodesThatNameNoOriginal) {
  const ReadExport read = read_sql(
      plain_call() + plain_range("aten::x, op_id = 1", 10, 20) +
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, globalTid INTEGER, graphNodeId INTEGER, originalGraphNodeId "
      "INTEGER);" +
      row("CUDA_GRAPH_NODE_EVENTS",
          {{"start", "15"}, {"globalTid", number(kPlainThread)}, {"graphNodeId", "8"}, {"originalGraphNodeId", "0"}}) +
      row("CUDA_GRAPH_NODE_EVENTS",
          {{"start", "15"}, {"globalTid", number(kPlainThread)}, {"graphNodeId", "9"}, {"originalGraphNodeId", "1"}}));
  EXPECT_THAT(texts_of(read.records.at(0).nodes, read.processes.at(0)),
              ElementsAre("node=8 cloned_from=0 stack ", "node=9 cloned_from=1 no stack "));
}

TEST(NsysSparse, CallsRangesAndCopiesWithoutTheirOptionalValues) {
  const ReadExport read = read_sql(
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, eventType INTEGER, globalTid INTEGER, end INTEGER, text TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, bytes INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER);" +
      string_id(1, "cudaMalloc") +
      row(kRuntime, {{"start", "1"}, {"end", "2"}, {"globalTid", number(kPlainThread)}, {"nameId", "1"}}) +
      row(kNvtx, {{"start", "3"},
                  {"end", "4"},
                  {"eventType", "59"},
                  {"text", "'step'"},
                  {"globalTid", number(kPlainThread)}}) +
      row(kMemset, {{"start", "5"}, {"end", "6"}, {"bytes", "7"}}) +
      row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {{"start", "8"}, {"end", "9"}}));
  ASSERT_EQ(read.processes.size(), 1u) << read.error;
  EXPECT_THAT(texts_of(read.records[0].calls, read.processes[0]),
              ElementsAre("cudaMalloc thread=78 start=1 end=2 correlation=0 kind=8 api=1 role=0 sequence=0 captured=0 "
                          "result=0 context=? stream=? device=? bytes=? dst=0 src=0 object=0 "));
  EXPECT_THAT(texts_of(read.records[0].ranges, read.processes[0]),
              ElementsAre("step thread=78 end_thread=78 start=3 end=4 color=0 domain= "));
  EXPECT_THAT(texts_of(read.records[0].memsets, read.processes[0]),
              ElementsAre("device=? start=5 end=6 correlation=0 context=? stream=? node=0 bytes=7 value=0 memory=0 "));
  EXPECT_THAT(texts_of(read.records[0].kernels, read.processes[0]),
              ElementsAre("CUDA graph device=? start=8 end=9 correlation=0 context=? stream=? node=0 graph=0 "));
  EXPECT_TRUE(read.records[0].devices.empty());
}

// Native frames, then operators, then Python's: from the call outwards.
TEST(NsysSparse, StacksPutOperatorsBetweenNativeFramesAndPython) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMemcpyAsync") + string_id(2, "at::copy(int)") +
               string_id(3, "step") + string_id(4, "/lib/a.so") + string_id(5, "train.py") +
               string_id(6, "<frozen x>:12") + string_id(7, "a.py:1x") + string_id(8, "") +
               "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth INTEGER, module INTEGER);"
               "INSERT INTO CUDA_CALLCHAINS VALUES (1,2,0,4),(1,3,1,5),(1,3,2,6),(1,3,3,7),(1,8,4,NULL),(2,2,0,4);" +
               plain_range("aten::outer, op_id = 1", 10, 50) + plain_range("aten::inner, op_id = 2", 10, 40) +
               row(kRuntime, with(call(1, 1, 20, 21), {{"callchainId", "1"}, {"globalTid", number(kPlainThread)}})) +
               row(kRuntime, with(call(1, 2, 20, 21), {{"callchainId", "2"}, {"globalTid", number(kPlainThread)}})) +
               row(kRuntime, with(call(1, 3, 60, 61), {{"callchainId", "2"}, {"globalTid", number(kPlainThread)}})));
  std::vector<std::string> stacks;
  for (const trace::CallRecord& call : read.records.at(0).calls) {
    std::string names;
    for (const std::uint32_t id : read.processes[0].stacks.at(call.stack).frames) {
      const trace::Frame& frame = read.processes[0].frames.at(id);
      names += frame.function + '|' + frame.file + '|' + std::to_string(frame.line) + ' ';
    }
    stacks.push_back(names);
  }
  const std::string native = "_ZN2at4copyE|/lib/a.so|0 ";
  const std::string operators = "aten::inner||0 aten::outer||0 ";
  EXPECT_THAT(stacks, ElementsAre(native + operators + "step|train.py|0 step|<frozen x>|12 step|a.py:1x|0 ||0 ",
                                  native + operators, native));
}

TEST(NsysSparse, NamesOfTheLinkerHaveTwoPartsAtLeast) {
  EXPECT_EQ(linker_name("at::add(int)"), "_ZN2at3addE");
  EXPECT_EQ(linker_name("at::add_1_"), "_ZN2at6add_1_E");
  EXPECT_EQ(linker_name("at::1add"), "at::1add");
  EXPECT_EQ(linker_name("at::"), "at::");
  EXPECT_EQ(linker_name("::add"), "::add");
  EXPECT_EQ(linker_name("at::a-b"), "at::a-b");
  EXPECT_EQ(linker_name("std::vector<int, (x)>[3]::at{y} const"), "_ZN3std6vector2atE");
  EXPECT_EQ(linker_name("void add(int)"), "add");
}

// The node 7 was made by the operator that ended before another began with the same number.
TEST(NsysSparse, OperatorsThatTouchMadeNoNode) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") +
               plain_range("a::x, seq = 7, op_id = 1", 10, 20) + plain_range("a::y, seq = 7, op_id = 2", 20, 30) +
               row(kRuntime, with(call(1, 1, 15, 16), {{"globalTid", number(kPlainThread)}})) +
               row(kRuntime, with(call(1, 2, 25, 26), {{"globalTid", number(kPlainThread)}})));
  EXPECT_EQ(read.records.at(0).calls.at(0).autograd_sequence, 7u);
  EXPECT_EQ(read.records.at(0).calls.at(1).autograd_sequence, 8u);
}

}  // namespace
}  // namespace turnpike::ingest
