// Every field of every record that an export of Nsight Systems gives: each has a value of its own, so none can stand in
// the place of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/nsys/names.h"
#include "ingest/nsys/ranges.h"
#include "ingest/nsys/stacks.h"
#include "ingest/nsys_database.h"
#include "ingest/record_text.h"

namespace turnpike::ingest {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using trace::Loss;

// The clock begins at 1,000,000.
const std::string kStart =
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (0), (-4), (1000000), (2000000);";

template <typename Record>
std::vector<std::string> texts(const ReadExport& read, std::vector<Record> Collected::* list, std::size_t process = 0) {
  return texts_of(read.records.at(process).*list, read.processes.at(process));
}

std::map<std::string, std::string> distinct_work() {
  return {{"start", "110"},
          {"end", "120"},
          {"deviceId", "13"},
          {"contextId", "14"},
          {"streamId", "15"},
          {"correlationId", "16"},
          {"globalPid", number(kProcess)},
          {"graphNodeId", "17"}};
}

TEST(NsysFields, OfCopies) {
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + kStart +
               row(kMemcpy, with(distinct_work(), {{"bytes", "18"},
                                                   {"copyKind", "10"},
                                                   {"srcKind", "4"},
                                                   {"dstKind", "3"},
                                                   {"srcDeviceId", "19"},
                                                   {"dstDeviceId", "20"},
                                                   {"virtualAddress", "21"},
                                                   {"copyCount", "22"}})) +
               row(kMemcpy, with(work(-1, 5, 5), {{"bytes", "0"}, {"copyKind", "9"}, {"deviceId", "1"}})));
  EXPECT_THAT(texts(read, &Collected::copies),
              ElementsAre("device=13 start=1000110 end=1000120 correlation=16 context=14 stream=15 node=17 bytes=18 "
                          "kind=10 src=5 dst=4 async=0 from=19 to=20 graph=0 copies=22 ",
                          "device=1 start=1000005 end=1000005 correlation=0 context=1 stream=7 node=0 bytes=0 kind=9 "
                          "src=0 dst=0 async=0 from=? to=? graph=0 copies=1 "));
  EXPECT_EQ(read.processes[0].start_realtime_ns, 1'000'000);
  EXPECT_TRUE(read.processes[0].losses.empty());
}

TEST(NsysFields, OfEveryDirectionAndMemory) {
  std::string sql = tables_of(Schema::k3_25);
  for (int i = 0; i <= 14; ++i) {
    sql += row(kMemcpy,
               with(work(i + 1, 1, 2),
                    {{"bytes", "8"}, {"copyKind", number(i)}, {"srcKind", number(i)}, {"dstKind", number(14 - i)}}));
  }
  const ReadExport read = read_sql(sql);
  std::vector<std::string> found;
  for (const trace::MemcpyRecord& copy : read.records.at(0).copies) {
    found.push_back(number(static_cast<int>(copy.copy_kind)) + ' ' + number(static_cast<int>(copy.src_kind)) + ' ' +
                    number(static_cast<int>(copy.dst_kind)));
  }
  EXPECT_THAT(found, ElementsAre("0 1 0", "1 2 0", "2 3 0", "3 4 0", "4 5 0", "5 6 0", "6 7 0", "7 0 0", "8 0 7",
                                 "9 0 6", "10 0 5", "0 0 1"));
  std::vector<int> migrations;
  for (const trace::MigrationRecord& record : read.records[0].migrations) {
    migrations.push_back(static_cast<int>(record.kind));
  }
  EXPECT_THAT(migrations, ElementsAre(1, 2, 3));
}

TEST(NsysFields, OfMemsetsKernelsAndGraphs) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + kStart + string_id(5, "mangled") + string_id(6, "demangled") + string_id(7, "short") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
      "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphNodeId INTEGER, graphId INTEGER);" +
      row(kMemset, with(distinct_work(), {{"bytes", "18"}, {"value", "19"}, {"memKind", "6"}})) +
      row(kMemset, with(work(2, 1, 2), {{"bytes", "-1"}, {"value", "1"}})) +
      row(kKernel, with(distinct_work(),
                        {{"mangledName", "5"}, {"demangledName", "6"}, {"shortName", "7"}, {"graphId", "18"}})) +
      row(kKernel, with(work(3, 1, 2), {{"demangledName", "6"}, {"shortName", "7"}})) +
      row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with(distinct_work(), {{"graphId", "28"}})) +
      row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with(work(4, 1, 2), {{"graphId", "-1"}})));
  EXPECT_THAT(texts(read, &Collected::memsets),
              ElementsAre("device=13 start=1000110 end=1000120 correlation=16 context=14 stream=15 node=17 bytes=18 "
                          "value=19 memory=7 "));
  const std::string work = "device=13 start=1000110 end=1000120 correlation=16 context=14 stream=15 ";
  const std::string other = "device=0 start=1000001 end=1000002 correlation=";
  EXPECT_THAT(texts(read, &Collected::kernels),
              ElementsAre("mangled " + work + "node=17 graph=18 ",
                          "demangled " + other + "3 context=1 stream=7 node=0 graph=0 ",
                          "CUDA graph " + work + "node=0 graph=28 ",
                          "CUDA graph " + other + "4 context=1 stream=7 node=0 graph=0 "));
  EXPECT_EQ(read.lost(Loss::kHiddenGraphCopies), 2u);
  EXPECT_EQ(read.lost(Loss::kUnreadableEvent), 1u);
}

TEST(NsysFields, OfKernelsThatHaveOnlyAShortName) {
  const ReadExport read = read_sql(
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);" + string_id(7, "short") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, globalPid INTEGER, shortName INTEGER);" +
      row(kKernel, {{"start", "1"}, {"end", "2"}, {"globalPid", number(kProcess)}, {"shortName", "7"}}) +
      row(kKernel, {{"start", "3"}, {"end", "4"}, {"globalPid", number(kProcess)}}));
  EXPECT_THAT(texts(read, &Collected::kernels),
              ElementsAre("short device=? start=1 end=2 correlation=0 context=? stream=? node=0 graph=0 ",
                          " device=? start=3 end=4 correlation=0 context=? stream=? node=0 graph=0 "));
}

TEST(NsysFields, OfMigrationsAndFaults) {
  const std::string times = "(start INTEGER, end INTEGER, globalPid INTEGER, address INTEGER, deviceId INTEGER);";
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + kStart + "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS " + times +
      "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS " + times +
      row(kMemcpy, with(distinct_work(), {{"bytes", "18"}, {"copyKind", "13"}, {"virtualAddress", "21"}})) +
      row("CUDA_UM_CPU_PAGE_FAULT_EVENTS",
          {{"start", "5"}, {"globalPid", number(kProcess)}, {"address", "6"}, {"deviceId", "4"}}) +
      row("CUDA_UM_GPU_PAGE_FAULT_EVENTS",
          {{"start", "7"}, {"end", "8"}, {"globalPid", number(kOtherProcess)}, {"address", "9"}, {"deviceId", "2"}}) +
      row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {{"start", "10"}, {"globalPid", number(kOtherProcess)}}));
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_THAT(texts(read, &Collected::migrations),
              ElementsAre("device=13 start=1000110 end=1000120 bytes=18 address=21 kind=3 ",
                          "device=? start=1000005 end=1000005 bytes=? address=6 kind=4 "));
  EXPECT_THAT(texts(read, &Collected::migrations, 1),
              ElementsAre("device=2 start=1000007 end=1000008 bytes=? address=9 kind=4 ",
                          "device=? start=1000010 end=1000010 bytes=? address=0 kind=4 "));
}

TEST(NsysFields, OfCalls) {
  const std::string events =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
      "globalPid INTEGER, eventId INTEGER);";
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + kStart + events + string_id(1, "cudaEventRecord_v3020") +
      string_id(2, "cuStreamSynchronize") + string_id(3, "cudaMemcpyAsync_v3020") +
      row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {{"correlationId", "31"},
                                             {"globalPid", number(kProcess)},
                                             {"contextId", "32"},
                                             {"streamId", "33"},
                                             {"eventId", "34"}}) +
      row("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
          {{"correlationId", "0"}, {"globalPid", number(kProcess)}, {"eventId", "35"}}) +
      row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {{"globalPid", number(kProcess)}, {"eventId", "36"}}) +
      row(kSync, with(work(41, 1, 2),
                      {{"contextId", "42"}, {"streamId", "43"}, {"eventId", "4294967295"}, {"syncType", "3"}})) +
      row(kNvtx, {{"start", "10"},
                  {"end", "100"},
                  {"eventType", "59"},
                  {"text", "'aten::x, seq = 51, op_id = 2'"},
                  {"globalTid", number(kThread)}}) +
      row(kRuntime, with(call(1, 31, 10, 20), {{"returnValue", "700"}})) +
      row(kRuntime, with(call(2, 41, 30, 40), {{"eventClass", "1"}, {"globalTid", number(kProcess | 79)}})) +
      row(kRuntime, with(call(3, 0, 100, 110), {{"returnValue", "-1"}})) +
      row(kRuntime, with(call(3, 5, 100, 110), {{"eventClass", "2"}})));
  EXPECT_THAT(
      texts(read, &Collected::calls),
      ElementsAre("cudaEventRecord thread=78 start=1000010 end=1000020 correlation=31 kind=6 api=1 role=1 sequence=52 "
                  "captured=0 result=700 context=32 stream=33 device=? bytes=? dst=0 src=0 object=34 ",
                  "cudaMemcpyAsync thread=78 start=1000100 end=1000110 correlation=0 kind=1 api=1 role=0 sequence=0 "
                  "captured=0 result=-1 context=? stream=? device=? bytes=? dst=0 src=0 object=0 ",
                  "cuStreamSynchronize thread=79 start=1000030 end=1000040 correlation=41 kind=3 api=2 role=0 "
                  "sequence=0 captured=0 result=0 context=42 stream=43 device=? bytes=? dst=0 src=0 object=0 "));
  EXPECT_EQ(read.processes[0].pid, 77u);
}

// Where the table does not tell the interface, the name does.
TEST(NsysFields, OfCallsWithoutAClass) {
  const ReadExport read = read_sql(
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);" + string_id(1, "cuMemcpyHtoDAsync_v2") +
      string_id(2, "cudaMemcpyAsync") + string_id(3, "clEnqueue") +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, "
      "correlationId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, globalPid INTEGER, correlationId INTEGER, "
      "bytes INTEGER, copyKind INTEGER);" +
      row(kRuntime,
          {{"start", "1"}, {"end", "1"}, {"globalTid", number(kThread)}, {"nameId", "1"}, {"correlationId", "4"}}) +
      row(kRuntime,
          {{"start", "2"}, {"end", "3"}, {"globalTid", number(kThread)}, {"nameId", "2"}, {"correlationId", "5"}}) +
      row(kRuntime,
          {{"start", "3"}, {"end", "4"}, {"globalTid", number(kThread)}, {"nameId", "3"}, {"correlationId", "6"}}) +
      row(kMemcpy, {{"start", "1"},
                    {"end", "2"},
                    {"globalPid", number(kProcess)},
                    {"correlationId", "4"},
                    {"bytes", "1"},
                    {"copyKind", "1"}}) +
      row(kMemcpy, {{"start", "1"},
                    {"end", "2"},
                    {"globalPid", number(kOtherProcess)},
                    {"correlationId", "4"},
                    {"bytes", "2"},
                    {"copyKind", "1"}}));
  std::vector<std::string> calls;
  for (const trace::CallRecord& call : read.records.at(0).calls) {
    calls.push_back(read.text(call.name) + (call.api == trace::Api::kDriver ? " driver" : " runtime"));
  }
  EXPECT_THAT(calls, ElementsAre("cudaMemcpyAsync runtime", "clEnqueue runtime", "cuMemcpyHtoDAsync_v2 driver"));
  EXPECT_EQ(read.records[0].copies.at(0).is_async, 1);
  EXPECT_EQ(read.records.at(1).copies.at(0).is_async, 0);
}

TEST(NsysFields, OfRangesAndThreads) {
  const auto range = [](const std::string& text, const std::map<std::string, std::string>& more) {
    return row(kNvtx, with({{"start", "60"},
                            {"end", "70"},
                            {"eventType", "59"},
                            {"text", "'" + text + "'"},
                            {"globalTid", number(kThread)}},
                           more));
  };
  const ReadExport read =
      read_sql(tables_of(Schema::k3_25) + kStart + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
               row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(kOtherProcess | 5)}})) +
               "CREATE TABLE ThreadNames (globalTid INTEGER, nameId INTEGER);" + string_id(2, "of the system") +
               row("ThreadNames", {{"globalTid", number(kProcess | 81)}, {"nameId", "2"}}) +
               row("ThreadNames", {{"globalTid", number((std::int64_t{9} << 48) | 81)}, {"nameId", "2"}}) +
               row("ThreadNames", {{"nameId", "2"}}) + range("pushed", {{"color", "61"}, {"domainId", "62"}}) +
               range("started", {{"eventType", "60"}, {"endGlobalTid", number(kProcess | 80)}}) +
               range("elsewhere", {{"globalTid", number(kOtherProcess | 78)}, {"domainId", "62"}}) +
               range("domain", {{"eventType", "75"}, {"domainId", "62"}}) +
               range("mark", {{"eventType", "34"}, {"end", "9999"}}) + range("mark too", {{"eventType", "65"}}) +
               range("pushed too", {{"eventType", "70"}}) + range("started too", {{"eventType", "71"}}) +
               range("nothing", {{"eventType", "33"}}) + range("named", {{"eventType", "39"}}) +
               range("Aten::x, op_id = 3", {}) + range("aten::y, op_id = 3", {{"end", "60"}}) +
               range("a step, seq = 9", {}) + range("backwards", {{"end", "59"}}));
  const std::string at = " thread=78 end_thread=78 start=1000060 end=1000070 color=0 domain= ";
  EXPECT_THAT(texts(read, &Collected::ranges),
              ElementsAre("pushed thread=78 end_thread=78 start=1000060 end=1000070 color=61 domain=domain ",
                          "started thread=78 end_thread=80 start=1000060 end=1000070 color=0 domain= ",
                          "mark thread=78 end_thread=78 start=1000060 end=1000060 color=0 domain= ",
                          "mark too thread=78 end_thread=78 start=1000060 end=1000060 color=0 domain= ",
                          "pushed too" + at, "started too" + at, "Aten::x" + at,
                          "aten::y thread=78 end_thread=78 start=1000060 end=1000060 color=0 domain= ", "a step" + at));
  EXPECT_THAT(texts(read, &Collected::ranges, 1), ElementsAre("elsewhere" + at));
  EXPECT_THAT(texts(read, &Collected::threads), ElementsAre("of the system thread=81 ", "named thread=78 "));
  EXPECT_EQ(read.lost(Loss::kUnreadableEvent), 1u);  // the range that ends before it starts
}

TEST(NsysFields, OfGpus) {
  const auto gpu = [](int id, const std::string& name, const std::string& bus) {
    return "INSERT INTO TARGET_INFO_GPU VALUES (" + number(id) + ",'" + name + "','" + bus + "'," + number(100 + id) +
           "," + number(200 + id) + ");INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (" + number(id) + "," +
           number(10 + id) + ",77);";
  };
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
      row(kKernel, with(work(1, 1, 2), {{"deviceId", "12"}, {"demangledName", "1"}, {"shortName", "1"}})) +
      row(kKernel, with(work(1, 1, 2), {{"deviceId", "30"}, {"demangledName", "1"}, {"shortName", "1"}})) +
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount "
      "INTEGER);"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);" +
      gpu(1, "A", "0001:FF:1e.0") + gpu(2, "B", "0:ff:ff.0") + gpu(3, "C", "0:100:1.0") + gpu(4, "D", "0:1:100.0") +
      gpu(5, "E", "x") +
      "INSERT INTO TARGET_INFO_GPU VALUES (6,'F',NULL,-1,-1); INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (6,16,77);");
  EXPECT_THAT(texts(read, &Collected::devices),
              UnorderedElementsAre("A device=11 multiprocessors=201 memory=101 domain=1 bus=255 slot=30 numa=65535 ",
                                   "B device=12 multiprocessors=202 memory=102 domain=0 bus=255 slot=255 numa=65535 ",
                                   "C device=13 multiprocessors=203 memory=103 domain=0 bus=0 slot=0 numa=65535 ",
                                   "D device=14 multiprocessors=204 memory=104 domain=0 bus=0 slot=0 numa=65535 ",
                                   "E device=15 multiprocessors=205 memory=105 domain=0 bus=0 slot=0 numa=65535 ",
                                   "F device=16 multiprocessors=0 memory=0 domain=0 bus=0 slot=0 numa=65535 ",
                                   " device=30 multiprocessors=0 memory=0 domain=0 bus=0 slot=0 numa=65535 "));
}

TEST(NsysFields, OfStreamsOfTwoProcesses) {
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
      row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(std::int64_t{5} << 56 | kOtherProcess | 5)}})) +
      "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER, processId "
      "INTEGER, "
      "deviceId INTEGER, contextId INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7,0,1,77,2,1),(8,0,1,77,3,4),(9,5,2,77,5,1);"
      "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, "
      "contextId "
      "INTEGER, flag INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES "
      "(7,0,1,77,1,3),(13,0,1,77,4,2),(14,5,2,77,1,1),(15,5,2,77,6,3),(16,5,1,77,1,3);");
  EXPECT_THAT(texts(read, &Collected::streams),
              UnorderedElementsAre(" device=2 context=1 stream=7 default=1 ", " device=3 context=4 stream=8 default=1 ",
                                   " device=3 context=4 stream=13 default=0 "));
  EXPECT_THAT(texts(read, &Collected::streams, 1), UnorderedElementsAre(" device=5 context=1 stream=9 default=1 ",
                                                                        " device=5 context=1 stream=14 default=0 ",
                                                                        " device=? context=6 stream=15 default=1 "));
}

TEST(NsysFields, OfTheRun) {
  const std::string sql =
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2)) +
      "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
      "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ARGUMENT_10','c'),('PROCESS_0:ARGUMENT_2','b'),"
      "('PROCESS_0:ARGUMENT_x','no'),('PROCESS_0:COMMAND','python'),('PROCESS_0:WORKING_DIR','/home'),"
      "('PROCESS_0:ENVIRONMENT_VARIABLE','RANK=\"3\"'),('PROCESS_0:ENVIRONMENT_VARIABLE','LOCAL_RANK=\"1\"'),"
      "('PROCESS_0:ENVIRONMENT_VARIABLE','WORLD_SIZE=\"8\"'),('PROCESS_0:ENVIRONMENT_VARIABLE','HOME=\"x\"'),"
      "('PROCESS_0:ENVIRONMENT_VARIABLE','RANK=\"'),('PROCESS_1:COMMAND','other');"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0'),('EXPORT_PRODUCT_VERSION','2026.1'),"
      "('OTHER','x');"
      "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname','node7'),('Other','x');";
  const std::map<std::string, std::string> expected = {{"program",
                                                        "python\x1f"
                                                        "b\x1f"
                                                        "c"},
                                                       {"cwd", "/home"},
                                                       {"rank", "3"},
                                                       {"local_rank", "1"},
                                                       {"world_size", "8"},
                                                       {"nsys_schema_version", "3.25.0"},
                                                       {"nsight_systems_version", "2026.1"},
                                                       {"host", "node7"}};
  EXPECT_THAT(read_sql(sql).processes.at(0).metadata, testing::ContainerEq(expected));
  // Two ranks of one machine: the environment is not that of both, MPI tells each.
  const ReadExport two =
      read_sql(sql + row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(kOtherProcess | 5)}})) +
               "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);" +
               row("MPI_RANKS", {{"globalTid", number(kProcess | 1)}, {"rank", "6"}}) +
               row("MPI_RANKS", {{"globalTid", number(kOtherProcess | 1)}, {"rank", "7"}}));
  ASSERT_EQ(two.processes.size(), 2u);
  EXPECT_EQ(two.processes[0].metadata.at("rank"), "6");
  EXPECT_EQ(two.processes[1].metadata.at("rank"), "7");
  for (const trace::Process& process : two.processes) {
    EXPECT_FALSE(process.metadata.contains("local_rank"));
    EXPECT_EQ(process.metadata.at("world_size"), "8");
    EXPECT_EQ(process.metadata.at("host"), "node7");
  }
}

TEST(NsysFields, OfSamples) {
  const auto range = [](std::int64_t start_ns, std::int64_t end_ns, std::int64_t thread) {
    return row(kNvtx, {{"start", number(start_ns)},
                       {"end", number(end_ns)},
                       {"eventType", "59"},
                       {"text", "'aten::x, op_id = 2'"},
                       {"globalTid", number(thread)}});
  };
  const std::string base =
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + row(kRuntime, call(1, 1, 1, 2));
  // In the middle of each 200 us, up to the last end and not at it.
  EXPECT_THAT(texts(read_sql(base + range(0, 300'000, kThread)), &Collected::samples),
              ElementsAre("thread=78 time=100000 stack "));
  EXPECT_THAT(texts(read_sql(base + range(0, 300'001, kThread)), &Collected::samples),
              ElementsAre("thread=78 time=100000 stack ", "thread=78 time=300000 stack "));
  // Two threads of 4 s each: 20,000 samples of both.
  const ReadExport many = read_sql(base + range(0, 4'000'000'000, kThread) + range(7, 4'000'000'007, kThread + 1));
  EXPECT_EQ(many.records.at(0).samples.size(), 20'000u);
  EXPECT_EQ(many.records[0].samples[1].time_ns - many.records[0].samples[0].time_ns, 400'000);
}

TEST(NsysFields, HaveTimesOfThisEra) {
  constexpr std::int64_t kMax = std::int64_t{1} << 61;
  const std::string base = tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020");
  const ReadExport edge = read_sql(base + row(kRuntime, call(1, 1, -kMax, kMax)) + row(kRuntime, call(1, 2, 5, 5)));
  ASSERT_EQ(edge.records.at(0).calls.size(), 2u);
  EXPECT_EQ(edge.records[0].calls[0].start_ns, -kMax);
  EXPECT_EQ(edge.records[0].calls[0].end_ns, kMax);
  EXPECT_TRUE(edge.processes[0].losses.empty());
  const ReadExport beyond = read_sql(base + row(kRuntime, call(1, 1, 1, 2)) + row(kRuntime, call(1, 2, -kMax - 1, 0)) +
                                     row(kRuntime, call(1, 3, 0, kMax + 1)));
  EXPECT_EQ(beyond.records.at(0).calls.size(), 1u);
  EXPECT_EQ(beyond.lost(Loss::kUnreadableEvent), 2u);
  const auto started = [&](std::int64_t epoch_ns) {
    return read_sql(base + row(kRuntime, call(1, 1, 1, 2)) +
                    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
                    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (" +
                    number(epoch_ns) + ");")
        .processes.at(0)
        .start_realtime_ns;
  };
  EXPECT_EQ(started(kMax - 1), kMax - 1);
  EXPECT_EQ(started(kMax), trace::kUnknownTime);
  EXPECT_EQ(started(1), 1);
  EXPECT_EQ(started(0), trace::kUnknownTime);
}

// Old versions do not say whose device work is: it is that of the only process.
TEST(NsysFields, GiveWorkWithoutAProcessToTheOnlyOne) {
  const std::string one = tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") +
                          row(kRuntime, call(1, 1, 1, 2)) +
                          row(kMemcpy, with(work(1, 1, 2), {{"bytes", "8"}, {"copyKind", "1"}, {"globalPid", "NULL"}}));
  const ReadExport alone = read_sql(one);
  EXPECT_EQ(alone.records.at(0).copies.size(), 1u);
  const ReadExport two =
      read_sql(one + row(kRuntime, with(call(1, 1, 1, 2), {{"globalTid", number(kOtherProcess | 5)}})));
  EXPECT_TRUE(two.records.at(0).copies.empty() && two.records.at(1).copies.empty());
  EXPECT_EQ(two.lost(Loss::kUnreadableEvent), 1u);
  EXPECT_EQ(two.processes[0].losses.size(), 1u);
  EXPECT_TRUE(two.processes[1].losses.empty());
}

TEST(NsysFields, OfOperatorsAtTheirEdges) {
  const auto range = [](std::int64_t start_ns, std::int64_t end_ns, const std::string& text) {
    return row(kNvtx, {{"start", number(start_ns)},
                       {"end", number(end_ns)},
                       {"eventType", "59"},
                       {"text", "'" + text + "'"},
                       {"globalTid", number(kThread)}});
  };
  const ReadExport read = read_sql(
      tables_of(Schema::k3_25) + string_id(1, "cudaMalloc_v3020") + range(10, 15, "a::first, op_id = 2") +
      range(15, 20, "a::second, op_id = 3") + range(10, 30, "a::outer, op_id = 1") + row(kRuntime, call(1, 1, 9, 40)) +
      row(kRuntime, call(1, 2, 10, 40)) + row(kRuntime, call(1, 3, 15, 40)) + row(kRuntime, call(1, 4, 19, 40)) +
      row(kRuntime, call(1, 5, 20, 40)) + row(kRuntime, call(1, 6, 30, 40)));
  std::vector<std::string> stacks;
  for (const trace::CallRecord& call : read.records.at(0).calls) {
    std::string names;
    if (call.stack != trace::kNoId) {
      for (const std::uint32_t id : read.processes[0].stacks.at(call.stack).frames) {
        names += read.processes[0].frames.at(id).function + ' ';
      }
    }
    stacks.push_back(names);
  }
  EXPECT_THAT(stacks,
              ElementsAre("", "a::first a::outer ", "a::second a::outer ", "a::second a::outer ", "a::outer ", ""));
}

TEST(NsysFields, OfNamesOfPyTorch) {
  const auto text = [](std::string_view name) {
    const auto torch = torch_name(name);
    return torch ? std::string(torch->name) + '|' + (torch->sequence ? std::to_string(*torch->sequence) : "none")
                 : "no";
  };
  EXPECT_EQ(text("aten::mul, seq = 12, op_id = 3"), "aten::mul|12");
  EXPECT_EQ(text("aten::mul, op_id = 3, seq = 12"), "aten::mul|12");
  EXPECT_EQ(text("aten::mul, seq = x"), "aten::mul|none");
  EXPECT_EQ(text("aten::mul, seq = "), "aten::mul|none");
  EXPECT_EQ(text("a, op_id = "), "a|none");
  EXPECT_EQ(text(", seq = 5"), "no");
  EXPECT_EQ(text(", op_id = 5"), "no");
  EXPECT_EQ(text(""), "no");
}

}  // namespace
}  // namespace turnpike::ingest
