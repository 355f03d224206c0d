// Every field of every record that a trace of torch.profiler gives: each has a value of its own, so none can stand in
// the place of another.
#include <gmock/gmock.h>

#include "ingest/kineto_trace.h"
#include "ingest/record_text.h"

namespace turnpike::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using trace::Loss;

// Behind the moment from which the times of the file count.
constexpr const char* kBase = R"("baseTimeNanoseconds": 5000000000, )";

std::string times(int pid, int tid, const char* ts, const char* dur) {
  return "\"pid\": " + std::to_string(pid) + ", \"tid\": " + std::to_string(tid) + ", \"ts\": " + ts +
         ", \"dur\": " + dur;
}

TEST(KinetoFields, OfCopies) {
  const ReadTrace read = read_text(trace_of(
      {
          event("gpu_memcpy", "Memcpy PtoP (Managed -> Array)", times(90, 91, "12.345", "6.5"),
                R"("device": 3, "inDevice": 33, "context": 4, "inContext": 44, "stream": 5, "correlation": 6,
                   "bytes": 7, "size": 77, "graph id": 8, "graph node id": 9, "fromDevice": 10, "toDevice": 11)"),
          event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", times(1, 20, "100", "2"), R"("correlation": 21,
                   "size": 22)"),
          event("cuda_runtime", "cudaMemcpyAsync", times(50, 51, "1", "2"), R"("correlation": 21)"),
      },
      kBase));
  EXPECT_THAT(texts_of(read.records.copies, read.process),
              ElementsAre("device=3 start=5000012345 end=5000018845 correlation=6 context=4 stream=5 node=9 bytes=7 "
                          "kind=10 src=5 dst=4 async=0 from=10 to=11 graph=8 copies=1 ",
                          "device=1 start=5000100000 end=5000102000 correlation=21 context=? stream=20 node=0 bytes=22 "
                          "kind=2 src=3 dst=1 async=1 from=? to=? graph=0 copies=1 "));
}

TEST(KinetoFields, OfMemsetsAndKernels) {
  const ReadTrace read = read_text(trace_of(
      {
          event("gpu_memset", "Memset (Managed Static)", times(90, 91, "12.345", "6.5"),
                R"("device": 3, "context": 4, "stream": 5, "correlation": 6, "bytes": 7, "graph node id": 9)"),
          event("Memset", "Memset (Device)", times(2, 20, "1", "1"), R"("correlation": 8)"),
          event("kernel", "void \\\"k\\\"<2>", times(90, 91, "2.345", "1.5"),
                R"("device": 13, "context": 14, "stream": 15, "correlation": 16, "graph id": 18, "graph node id": 19)"),
          event("Kernel", "plain", times(2, 25, "3", "4"), R"("inDevice": 1, "inContext": 24)"),
      },
      kBase));
  EXPECT_THAT(texts_of(read.records.memsets, read.process),
              ElementsAre("device=3 start=5000012345 end=5000018845 correlation=6 context=4 stream=5 node=9 bytes=7 "
                          "value=0 memory=7 ",
                          "device=2 start=5000001000 end=5000002000 correlation=8 context=? stream=20 node=0 bytes=0 "
                          "value=0 memory=3 "));
  EXPECT_EQ(read.loss(Loss::kUnknownCopySize), 1u);
  EXPECT_THAT(
      texts_of(read.records.kernels, read.process),
      ElementsAre("void \"k\"<2> device=13 start=5000002345 end=5000003845 correlation=16 context=14 stream=15 node=19 "
                  "graph=18 ",
                  "plain device=1 start=5000003000 end=5000007000 correlation=0 context=24 stream=25 node=0 graph=0 "));
}

TEST(KinetoFields, OfCallsOfTwoThreadsAndDevices) {
  const auto wait = [](int correlation, int device, int context, int stream) {
    return event("cuda_sync", "Stream Sync", times(0, 77, "1", "1"),
                 "\"device\": " + std::to_string(device) + ", \"context\": " + std::to_string(context) +
                     ", \"stream\": " + std::to_string(stream) + ", \"correlation\": " + std::to_string(correlation));
  };
  const ReadTrace read = read_text(trace_of(
      {
          event("cpu_op", "aten::a", times(40, 41, "0", "50"), R"("Sequence number": 17, "Fwd thread id": 0)"),
          event("cpu_op", "BBackward0", times(40, 42, "0", "50"), R"("Sequence number": 18, "Fwd thread id": 3)"),
          event("cuda_runtime", "cudaStreamSynchronize", times(40, 41, "1.5", "2.25"), R"("correlation": 3)"),
          event("cuda_driver", "cuStreamSynchronize", times(40, 42, "4.5", "5.25"), R"("correlation": 4)"),
          event("cuda_runtime", "hipMemcpy", times(40, 43, "7", "1"), R"("correlation": 5, "size": 99)"),
          wait(3, 10, 11, 12),
          wait(4, 20, 21, 22),
      },
      kBase));
  EXPECT_THAT(
      texts_of(read.records.calls, read.process),
      ElementsAre("cudaStreamSynchronize thread=41 start=5000001500 end=5000003750 correlation=3 kind=3 api=1 role=1 "
                  "sequence=17 captured=0 result=0 context=11 stream=12 device=10 bytes=? dst=0 src=0 object=0 ",
                  "cuStreamSynchronize thread=42 start=5000004500 end=5000009750 correlation=4 kind=3 api=2 role=2 "
                  "sequence=18 captured=0 result=0 context=21 stream=22 device=20 bytes=? dst=0 src=0 object=0 ",
                  "hipMemcpy thread=43 start=5000007000 end=5000008000 correlation=5 kind=1 api=1 role=0 sequence=0 "
                  "captured=0 result=0 context=? stream=? device=? bytes=99 dst=0 src=0 object=0 "));
  EXPECT_EQ(read.process.pid, 40u);
  EXPECT_EQ(read.stack(read.records.calls[0].stack), "aten::a");
  EXPECT_EQ(read.stack(read.records.calls[1].stack), "BBackward0");
  EXPECT_EQ(read.records.calls[2].stack, trace::kNoId);
}

TEST(KinetoFields, OfAWaitForAnEvent) {
  const ReadTrace read = read_text(trace_of({
      event("cuda_runtime", "cudaEventRecord", times(40, 41, "1", "1"), R"("correlation": 6)"),
      event("cuda_runtime", "cudaStreamWaitEvent", times(40, 41, "3", "1"), R"("correlation": 7)"),
      event("cuda_runtime", "cudaEventSynchronize", times(40, 41, "5", "1"), R"("correlation": 8)"),
      event("cuda_sync", "x", times(1, 2, "1", "1"), R"("correlation": 7, "wait_on_cuda_event_record_corr_id": 6)"),
      event("cuda_sync", "x", times(1, 2, "1", "1"), R"("correlation": 8, "wait_on_cuda_event_record_corr_id": 0)"),
      event("cuda_sync", "x", times(1, 2, "1", "1"), R"("correlation": 0, "device": 5)"),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(3));
  EXPECT_EQ(read.records.calls[0].object, 6u);
  EXPECT_EQ(read.records.calls[0].stream, trace::kUnknownId) << "not told";
  EXPECT_EQ(read.records.calls[1].object, 6u);
  EXPECT_EQ(read.records.calls[2].object, 0u);
  EXPECT_EQ(read.records.calls[1].device, 1u);  // the row's, where the arguments name none
}

TEST(KinetoFields, OfRangesThreadsAndSamples) {
  const auto name = [](int pid, int tid, const char* key, const char* text) {
    return R"({"ph": "M", "name": ")" + std::string(key) + R"(", "pid": )" + std::to_string(pid) + R"(, "tid": )" +
           std::to_string(tid) + R"(, "args": {"name": ")" + text + "\"}}";
  };
  const ReadTrace read = read_text(trace_of(
      {
          event("user_annotation", "step", times(40, 41, "1.5", "2.25"), ""),
          event("cpu_op", "aten::x", times(40, 42, "3", "1"), ""),
          name(40, 42, "thread_name", "thread 42 (worker)"),
          name(40, 43, "process_name", "python"),
          name(39, 44, "thread_name", "of a device"),
          name(40, 45, "thread_name", ""),
      },
      kBase));
  EXPECT_THAT(texts_of(read.records.ranges, read.process),
              ElementsAre("step thread=41 end_thread=41 start=5000001500 end=5000003750 color=0 domain= "));
  EXPECT_THAT(texts_of(read.records.threads, read.process), ElementsAre("worker thread=42 "));
  EXPECT_THAT(texts_of(read.records.samples, read.process), ElementsAre("thread=42 time=5000003000 stack "));
}

TEST(KinetoFields, OfDevicesAndVersions) {
  const ReadTrace read = read_text(trace_of({on_host("cpu_op", "a::a", 0, 1)},
                                            R"("deviceProperties": [
      {"id": 0, "name": "A", "numSms": 108, "totalGlobalMem": 85899345920},
      {"id": 4294967294, "name": "B", "numSms": 1048577, "totalGlobalMem": -5},
      {"id": 4294967295, "name": "C"}, {"id": 1, "numSms": 1048576}, {"id": 2, "numSms": -1}],
      "with_stack": 1, "record_shapes": 1, "cuda_runtime_version": 13000, "cuda_driver_version": 12340, "cupti_version": 26,
      "otherData": {"written_by": "someone"}, "distributedInfo": {"rank": 1, "world_size": 2, "rank_text": 9}, )"));
  EXPECT_THAT(texts_of(read.records.devices, read.process),
              ElementsAre("A device=0 multiprocessors=108 memory=85899345920 domain=0 bus=0 slot=0 numa=65535 ",
                          "B device=4294967294 multiprocessors=1048576 memory=0 domain=0 bus=0 slot=0 numa=65535 ",
                          " device=1 multiprocessors=1048576 memory=0 domain=0 bus=0 slot=0 numa=65535 ",
                          " device=2 multiprocessors=0 memory=0 domain=0 bus=0 slot=0 numa=65535 "));
  const std::map<std::string, std::string> expected = {{"cuda_runtime_version", "13.0"},
                                                       {"cuda_driver_version", "12.34"},
                                                       {"cupti_version", "26"},
                                                       {"profiled_stacks", "yes"},
                                                       {"rank", "1"},
                                                       {"world_size", "2"}};
  EXPECT_THAT(read.process.metadata, ::testing::ContainerEq(expected));
  EXPECT_EQ(read.process.path, "trace.json");
}

TEST(KinetoFields, OfCallsTellSeveralProcesses) {
  const auto callers = [](std::initializer_list<int> pids) {
    std::vector<std::string> events;
    for (const int pid : pids) {
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", times(pid, 41, "1", "1"), R"("correlation": 1)"));
    }
    return read_text(trace_of(events)).process.metadata["calling_processes"];
  };
  EXPECT_EQ(callers({40, 40}), "");
  EXPECT_EQ(callers({40, 41, 40}), "2");
}

// torch.profiler names all GPUs of a machine.
TEST(KinetoFields, OfDevicesAreThoseThatDidWork) {
  const ReadTrace read = read_text(
      trace_of({event("kernel", "k", times(4, 7, "1", "1"), R"("device": 1, "stream": 7, "correlation": 4)"),
                event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", times(4, 5, "1", "1"),
                      R"("bytes": 8, "device": 1, "fromDevice": 1, "toDevice": 3, "stream": 7, "correlation": 1)")},
               R"("deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}, {"id": 2, "name": "C"},
                              {"id": 3, "name": "D"}], )"));
  ASSERT_EQ(read.records.devices.size(), 2u);
  EXPECT_EQ(read.records.devices[0].device, 1u);
  EXPECT_EQ(read.records.devices[1].device, 3u);
}

// Numbers that records have no room for.
TEST(KinetoFields, AreUnknownBeyondTheirRange) {
  const auto copy = [](const char* more) {
    return event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", times(4, 5, "1", "1"), more);
  };
  const ReadTrace read = read_text(trace_of({
      copy(R"("bytes": 0, "device": 4294967294, "stream": 4294967295, "context": -1, "correlation": 1)"),
      copy(R"("bytes": -1, "fromDevice": -1, "toDevice": 0, "graph id": -1, "graph node id": -1, "correlation": 0)"),
  }));
  EXPECT_THAT(texts_of(read.records.copies, read.process),
              ElementsAre("device=4294967294 start=1000 end=2000 correlation=1 context=? stream=? node=0 bytes=0 "
                          "kind=8 src=3 dst=3 async=0 from=? to=? graph=0 copies=1 ",
                          "device=4 start=1000 end=2000 correlation=0 context=? stream=5 node=0 bytes=0 kind=8 src=3 "
                          "dst=3 async=0 from=? to=0 graph=0 copies=1 "));
  EXPECT_EQ(read.loss(Loss::kUnknownCopySize), 1u);
}

TEST(KinetoFields, JoinNoWorkToCallsWithoutACorrelation) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "cudaMemcpy", 1, 1),
      on_host("cuda_runtime", "cudaMemcpy", 3, 1, R"("correlation": 0)"),
      on_host("cuda_runtime", "cudaMemcpy", 5, 1, R"("correlation": 4294967296)"),
      on_host("cuda_runtime", "cudaMemcpy", 7, 1, R"("correlation": 1)"),
  }));
  std::vector<std::uint32_t> correlations;
  for (const auto& call : read.records.calls) correlations.push_back(call.correlation);
  EXPECT_THAT(correlations, ElementsAre(0xFFFFFFFEu, 0xFFFFFFFDu, 0xFFFFFFFCu, 1u));
}

TEST(KinetoFields, CountDeviceWorkWithoutOneOfItsTimes) {
  const auto kernel = [](const char* fields) { return event("kernel", "k", fields, R"("correlation": 1)"); };
  const ReadTrace read = read_text(trace_of({
      kernel(R"("pid": 1, "tid": 1, "ts": 1)"),
      kernel(R"("pid": 1, "tid": 1, "dur": 1)"),
      kernel(R"("pid": 1, "tid": 1, "ts": 1, "dur": 1)"),
      R"({"ph": "i", "cat": "kernel", "name": "not complete", "pid": 1, "tid": 1, "ts": 1, "dur": 1})",
  }));
  EXPECT_THAT(read.records.kernels, SizeIs(3));
  EXPECT_EQ(read.loss(Loss::kInvalidDeviceTimes), 2u);
  EXPECT_EQ(read.records.kernels[0].start_ns, 1'000);
  EXPECT_EQ(read.records.kernels[0].end_ns, trace::kUnknownTime);
}

TEST(KinetoFields, OrderCallsFromTheOuterToTheInner) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "cudaMemcpy", 10, 5, R"("correlation": 3)"),
      on_host("cuda_runtime", "cudaMemcpy", 10, 9, R"("correlation": 2)"),
      on_host("cuda_runtime", "cudaMemcpy", 10, 5, R"("correlation": 1)"),
      on_host("cuda_runtime", "cudaMemcpy", 9, 1, R"("correlation": 4)"),
      // Inside up to its end, and one that ends later.
      on_host("cuda_runtime", "cudaMalloc", 20, 5, R"("correlation": 5)"),
      on_host("cuda_driver", "cuMemAlloc", 21, 4, R"("correlation": 5)"),
      on_host("cuda_runtime", "cudaMalloc", 30, 5, R"("correlation": 6)"),
      on_host("cuda_driver", "cuMemAlloc", 31, 5, R"("correlation": 6)"),
  }));
  std::vector<std::string> order;
  for (const auto& call : read.records.calls) {
    order.push_back(std::to_string(call.correlation) + (call.api == trace::Api::kDriver ? " driver" : ""));
  }
  EXPECT_THAT(order, ElementsAre("4", "2", "1", "3", "5", "6", "6 driver"));
}

TEST(KinetoFields, OfAProcessWithoutANumber) {
  const auto pid = [](const std::string& field) {
    return read_text(trace_of({event("cpu_op", "a::a", field + R"("tid": 1, "ts": 1, "dur": 1)")})).process.pid;
  };
  EXPECT_EQ(pid(R"("pid": 7, )"), 7u);
  EXPECT_EQ(pid(R"("pid": -7, )"), 0u);
  EXPECT_EQ(pid(R"("pid": "text", )"), 0u);
  EXPECT_EQ(pid(""), 0u);
}

// Behind the list of events nothing is lost but what was not read.
TEST(KinetoFields, CountTheBytesOfATopLevelThatIsCutOff) {
  const std::string rest = R"("otherData": {"a": 1)";
  const std::string text = trace_of({on_host("cpu_op", "a::a", 0, 1)}, "", ", " + rest);
  const ReadTrace read = read_text(text.substr(0, text.find(rest) + rest.size()));
  EXPECT_EQ(read.loss(Loss::kDamagedBytes), rest.size() + 2);  // and the comma
  EXPECT_EQ(read.loss(Loss::kNotClosed), 0u);
}

TEST(KinetoFields, TellAnExportOfOurOwn) {
  TextSource source(
      R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}],
          "otherData": {"written_by": "turnpike 0.1.0"}})");
  Records records;
  const auto process = read_kineto(source, "ours.json", records);
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, ::testing::HasSubstr("ours.json was exported by Turnpike"));
  EXPECT_TRUE(records.bytes.empty());
}

// Each thread has a sample every 200 us, or as often as gives 20,000 of all threads together.
TEST(KinetoFields, SpaceSamplesByTheTimeOfAllThreads) {
  const ReadTrace few =
      read_text(trace_of({on_host("cpu_op", "a::a", 1'000, 400), on_host("cpu_op", "b::b", 9'000, 401)}));
  std::vector<std::int64_t> moments;
  for (const auto& sample : few.records.samples) moments.push_back(sample.time_ns / 1'000);
  EXPECT_THAT(moments, ElementsAre(1'000, 1'200, 9'000, 9'200, 9'400));
  const ReadTrace many = read_text(trace_of({
      event("cpu_op", "a::a", times(1, 1, "0", "4000000"), ""),
      event("cpu_op", "a::a", times(1, 2, "500", "4000000"), ""),
  }));
  ASSERT_THAT(many.records.samples, SizeIs(20'000));
  EXPECT_EQ(many.records.samples[1].time_ns - many.records.samples[0].time_ns, 400'000);
  EXPECT_EQ(many.records.samples[10'000].time_ns, 500'000);
}

TEST(KinetoFields, TellWhatIsOpenAtTheEdgesOfSpans) {
  const ReadTrace read = read_text(trace_of({
      on_host("cpu_op", "a::outer", 10, 20),
      on_host("cpu_op", "a::first", 10, 5),
      on_host("cpu_op", "a::second", 15, 5),
      on_host("cuda_runtime", "cudaMemcpy", 9, 1, R"("correlation": 1)"),
      on_host("cuda_runtime", "cudaMemcpy", 10, 1, R"("correlation": 2)"),
      on_host("cuda_runtime", "cudaMemcpy", 15, 1, R"("correlation": 3)"),
      on_host("cuda_runtime", "cudaMemcpy", 20, 1, R"("correlation": 4)"),
      on_host("cuda_runtime", "cudaMemcpy", 30, 1, R"("correlation": 5)"),
  }));
  std::vector<std::string> stacks;
  for (const auto& call : read.records.calls) stacks.push_back(read.stack(call.stack));
  EXPECT_THAT(stacks, ElementsAre("no stack", "a::first < a::outer", "a::second < a::outer", "a::outer", "no stack"));
}

}  // namespace
}  // namespace turnpike::ingest
