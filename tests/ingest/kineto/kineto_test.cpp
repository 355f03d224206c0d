// What the events of torch.profiler become, with what its files are known to hold and to lack.
#include <gmock/gmock.h>

#include <limits>

#include "ingest/kineto_trace.h"

namespace turnpike::ingest {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using trace::AutogradRole;
using trace::CallKind;
using trace::CallRecord;
using trace::CopyKind;
using trace::Loss;
using trace::MemoryKind;

std::string copy_call(int start_us, int correlation, std::string_view name = "cudaMemcpyAsync") {
  return on_host("cuda_runtime", name, start_us, 5, R"("cbid": 41, "correlation": )" + std::to_string(correlation));
}
std::string copy(std::string_view name, int correlation, std::string_view more = R"("bytes": 64)") {
  return on_device("gpu_memcpy", name, 10, 2,
                   R"("correlation": )" + std::to_string(correlation) + ", " + std::string(more));
}

TEST(Kineto, TurnsACopyIntoACallAndARecord) {
  const ReadTrace read = read_text(trace_of({
      copy("Memcpy HtoD (Pageable -> Device)", 7, R"j("bytes": 1048576, "memory bandwidth (GB/s)": 47.2)j"),
      copy_call(3, 7),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(1));
  const CallRecord& call = read.records.calls[0];
  EXPECT_EQ(call.start_ns, 3'000);
  EXPECT_EQ(call.end_ns, 8'000);
  EXPECT_EQ(call.thread, 100u);
  EXPECT_EQ(call.kind, CallKind::kCopy);
  EXPECT_EQ(read.process.string(call.name), "cudaMemcpyAsync");
  EXPECT_EQ(call.correlation, 7u);
  EXPECT_EQ(call.bytes, trace::kUnknownSize);
  EXPECT_EQ(call.stream, trace::kUnknownId);
  EXPECT_EQ(call.stack, trace::kNoId);
  EXPECT_EQ(call.autograd_role, AutogradRole::kUnknown);
  ASSERT_THAT(read.records.copies, SizeIs(1));
  const trace::MemcpyRecord& record = read.records.copies[0];
  EXPECT_EQ(record.start_ns, 10'000);
  EXPECT_EQ(record.end_ns, 12'000);
  EXPECT_EQ(record.bytes, 1'048'576u);
  EXPECT_EQ(record.device, 0u);
  EXPECT_EQ(record.context, 1u);
  EXPECT_EQ(record.stream, 7u);
  EXPECT_EQ(record.correlation, 7u);
  EXPECT_EQ(record.copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(record.src_kind, MemoryKind::kPageable);
  EXPECT_EQ(record.dst_kind, MemoryKind::kDevice);
  EXPECT_EQ(record.src_device, trace::kUnknownId);
  EXPECT_EQ(record.is_async, 1);
  EXPECT_EQ(record.copy_count, 1u);
  EXPECT_EQ(read.process.pid, 100u);
}

TEST(Kineto, TakesWhetherACopyIsAsynchronousFromItsCall) {
  const ReadTrace read = read_text(trace_of(
      {copy_call(1, 1, "cudaMemcpy"), copy_call(2, 2, "cudaMemcpy2DAsync"), copy("Memcpy DtoH (Device -> Pinned)", 1),
       copy("Memcpy DtoH (Device -> Pinned)", 2), copy("Memcpy DtoH (Device -> Pinned)", 3)}));
  ASSERT_THAT(read.records.copies, SizeIs(3));
  EXPECT_EQ(read.records.copies[0].is_async, 0);
  EXPECT_EQ(read.records.copies[1].is_async, 1);
  EXPECT_EQ(read.records.copies[2].is_async, 0);  // its call is not there
}

TEST(Kineto, TellsTheDevicesOfAPeerCopy) {
  const ReadTrace read = read_text(trace_of(
      {event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", R"("pid": 0, "tid": 22, "ts": 1, "dur": 2)",
             R"("fromDevice": 0, "inDevice": 2, "toDevice": 1, "fromContext": 1, "inContext": 5, "toContext": 2,
         "stream": 22, "correlation": 9, "bytes": 41943040)")}));
  ASSERT_THAT(read.records.copies, SizeIs(1));
  const trace::MemcpyRecord& record = read.records.copies[0];
  EXPECT_EQ(record.copy_kind, CopyKind::kPeerToPeer);
  EXPECT_EQ(record.device, 2u);
  EXPECT_EQ(record.context, 5u);
  EXPECT_EQ(record.src_device, 0u);
  EXPECT_EQ(record.dst_device, 1u);
  EXPECT_EQ(record.bytes, 41'943'040u);
}

TEST(Kineto, KnowsTheMemoryOfEveryCopy) {
  struct Case {
    const char* name;
    CopyKind kind;
    MemoryKind src;
    MemoryKind dst;
  };
  const Case cases[] = {
      {"Memcpy HtoD (Pinned -> Device)", CopyKind::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice},
      {"Memcpy DtoH (Device -> Pageable)", CopyKind::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPageable},
      {"Memcpy DtoD (Device -> Device)", CopyKind::kDeviceToDevice, MemoryKind::kDevice, MemoryKind::kDevice},
      {"Memcpy HtoH (Managed -> Pinned)", CopyKind::kHostToHost, MemoryKind::kManaged, MemoryKind::kPinned},
      {"Memcpy HtoA (Pageable -> Array)", CopyKind::kHostToArray, MemoryKind::kPageable, MemoryKind::kArray},
      {"Memcpy DtoD (Device Static -> Unknown)", CopyKind::kDeviceToDevice, MemoryKind::kDeviceStatic,
       MemoryKind::kUnknown},
      {"CopyHostToDevice", CopyKind::kHostToDevice, MemoryKind::kUnknown, MemoryKind::kUnknown},            // AMD
      {"CopyDeviceToHost", CopyKind::kDeviceToHost, MemoryKind::kUnknown, MemoryKind::kUnknown},            // AMD
      {"Memcpy M2D(HOST -> DEVICE)", CopyKind::kHostToDevice, MemoryKind::kUnknown, MemoryKind::kUnknown},  // Intel
      {"Memcpy D2M", CopyKind::kDeviceToHost, MemoryKind::kUnknown, MemoryKind::kUnknown},                  // Intel
      {"Memcpy", CopyKind::kUnknown, MemoryKind::kUnknown, MemoryKind::kUnknown},
      {"Memcpy QtoZ (x -> ", CopyKind::kUnknown, MemoryKind::kUnknown, MemoryKind::kUnknown},
      {"", CopyKind::kUnknown, MemoryKind::kUnknown, MemoryKind::kUnknown},
  };
  for (const Case& expected : cases) {
    const ReadTrace read = read_text(trace_of({copy(expected.name, 1)}));
    ASSERT_THAT(read.records.copies, SizeIs(1));
    EXPECT_EQ(read.records.copies[0].copy_kind, expected.kind) << expected.name;
    EXPECT_EQ(read.records.copies[0].src_kind, expected.src) << expected.name;
    EXPECT_EQ(read.records.copies[0].dst_kind, expected.dst) << expected.name;
  }
}

TEST(Kineto, ReadsTheTimesOfEveryVersion) {
  struct Case {
    const char* version;
    const char* top;
    const char* ts;
    const char* dur;
    std::int64_t start_ns;
    std::int64_t end_ns;
  };
  const Case cases[] = {
      {"1.13", "", "1668000000123456", "12", 1'668'000'000'123'456'000, 1'668'000'000'123'468'000},
      {"2.2", "", "1706000000123456", "0", 1'706'000'000'123'456'000, 1'706'000'000'123'456'000},
      {"2.3", "", "1712345678901234.567", "2.433", 1'712'345'678'901'234'567, 1'712'345'678'901'237'000},
      {"2.4", R"("baseTimeNanoseconds": 1790857026000000000, )", "4351982327149.718", "23.004",
       1'795'209'008'327'149'718, 1'795'209'008'327'172'722},
  };
  for (const Case& expected : cases) {
    const std::string times =
        R"("pid": 0, "tid": 7, "ts": )" + std::string(expected.ts) + R"(, "dur": )" + expected.dur;
    const ReadTrace read = read_text(trace_of(
        {event("kernel", "k", times, R"("device": 0, "context": 1, "stream": 7, "correlation": 4)")}, expected.top));
    ASSERT_THAT(read.records.kernels, SizeIs(1)) << expected.version;
    EXPECT_EQ(read.records.kernels[0].start_ns, expected.start_ns) << expected.version;
    EXPECT_EQ(read.records.kernels[0].end_ns, expected.end_ns) << expected.version;
  }
}

TEST(Kineto, KeepsDeviceWorkWhoseTimesAreUnknown) {
  const ReadTrace read = read_text(trace_of({
      event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", R"("pid": 0, "tid": 7, "ts": NaN, "dur": 1)",
            R"("bytes": 5)"),
      event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", R"("pid": 0, "tid": 7, "ts": 1e300, "dur": 1)",
            R"("bytes": 6)"),
      event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", R"("pid": 0, "tid": 7, "ts": 9223372036854775, "dur": 1)",
            R"("bytes": 7)"),
  }));
  ASSERT_THAT(read.records.copies, SizeIs(3));
  EXPECT_THAT(read.records.copies, Each(Field(&trace::MemcpyRecord::end_ns, trace::kUnknownTime)));
  EXPECT_EQ(read.loss(Loss::kInvalidDeviceTimes), 3u);
}

TEST(Kineto, CountsHostEventsWithoutTimesOrThread) {
  const ReadTrace read = read_text(trace_of({
      event("cpu_op", "a::a", R"("pid": 1, "tid": 1, "dur": 1)"),
      event("cpu_op", "a::a", R"("pid": 1, "tid": 1, "ts": 1)"),
      event("cpu_op", "a::a", R"("pid": 1, "tid": 1, "ts": 1, "dur": -1)"),
      event("python_function", "a.py(1): f", R"("pid": 1, "tid": "main", "ts": 1, "dur": 1)"),
      event("cuda_runtime", "cudaMemcpy", R"("pid": 1, "tid": 1, "ts": "1", "dur": 1)"),
      event("user_annotation", "step", R"("pid": 1, "tid": 1, "ts": null, "dur": 1)"),
      on_host("cpu_op", "b::b", 0, 1),
  }));
  EXPECT_EQ(read.loss(Loss::kUnreadableEvent), 6u);
  EXPECT_THAT(read.records.samples, SizeIs(1));
}

TEST(Kineto, MakesStacksOfWhatEnclosesACall) {
  // As in the file: operators first, then Python, then calls.
  const ReadTrace read = read_text(trace_of({
      on_host("cpu_op", "aten::to", 10, 50),
      on_host("cpu_op", "aten::copy_", 20, 30),
      on_host("cpu_op", "aten::add", 70, 5),
      event("cpu_op", "aten::on_other_thread", R"("pid": 100, "tid": 101, "ts": 0, "dur": 1000)"),
      on_host("python_function", "train.py(12): step", 5, 80),
      on_host("python_function", "<built-in method to of Tensor object at 0x7f7c44c7aee0>", 8, 55),
      on_host("python_function", "torch/nn/modules/module.py(1783): _call_impl", 66, 12),
      on_host("python_function", "nn.Module: Linear_0", 67, 10),
      copy_call(25, 1),
      copy_call(72, 2),
      copy_call(86, 3),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(3));
  EXPECT_EQ(read.stack(read.records.calls[0].stack),
            "aten::copy_ < aten::to < <built-in method to of Tensor object < train.py(12): step");
  EXPECT_EQ(read.stack(read.records.calls[1].stack),
            "aten::add < nn.Module: Linear_0 < torch/nn/modules/module.py(1783): _call_impl < train.py(12): step");
  EXPECT_EQ(read.records.calls[2].stack, trace::kNoId);
}

TEST(Kineto, TellsOperatorsFromPythonAndFromC) {
  const ReadTrace read = read_text(trace_of({
      on_host("cpu_op", "aten::to", 4, 90),
      on_host("python_function", "C:/me/train (old).py(12): step", 3, 95),
      on_host("python_function", "<built-in function len>", 2, 97),
      on_host("python_function", "<string>(1): <lambda>", 1, 99),
      copy_call(50, 1),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(1));
  std::vector<trace::Frame> frames;
  for (const auto id : read.process.stacks.at(read.records.calls[0].stack).frames)
    frames.push_back(read.process.frames.at(id));
  ASSERT_THAT(frames, SizeIs(4));
  EXPECT_EQ(frames[0].kind, trace::FrameKind::kOperator);
  EXPECT_EQ(frames[1].kind, trace::FrameKind::kPython);
  EXPECT_EQ(frames[1].file, "C:/me/train (old).py");
  EXPECT_EQ(frames[1].function, "step");
  EXPECT_EQ(frames[1].first_line, 12u);
  EXPECT_EQ(frames[1].line, 0u);
  EXPECT_EQ(frames[2].kind, trace::FrameKind::kNative);
  EXPECT_EQ(frames[2].file, "");
  EXPECT_EQ(frames[3].kind, trace::FrameKind::kPython);
  EXPECT_EQ(frames[3].file, "<string>");
}

TEST(Kineto, GivesOneFrameToAFunctionOfManyObjects) {
  const ReadTrace read = read_text(trace_of({
      on_host("python_function", "<built-in method item of Tensor object at 0x7f7c44c7aee0>", 0, 10),
      on_host("python_function", "<built-in method item of Tensor object at 0x7f7c44c7aff0>", 20, 10),
      copy_call(5, 1),
      copy_call(25, 2),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(2));
  EXPECT_EQ(read.records.calls[0].stack, read.records.calls[1].stack);
  EXPECT_THAT(read.process.frames, SizeIs(1));
}

TEST(Kineto, CutsStacksThatAreTooDeep) {
  std::vector<std::string> events;
  for (int i = 0; i < 600; ++i)
    events.push_back(on_host("python_function", "a.py(" + std::to_string(i) + "): f", i, 2000 - 2 * i));
  events.push_back(copy_call(700, 1));
  const ReadTrace read = read_text(trace_of(events));
  const trace::Stack& stack = read.process.stacks.at(read.records.calls.at(0).stack);
  EXPECT_TRUE(stack.is_truncated);
  EXPECT_THAT(stack.frames, SizeIs(512));
  EXPECT_EQ(read.process.frames.at(stack.frames[0]).first_line, 599u);
  EXPECT_GE(read.loss(Loss::kStackTruncated), 1u);
}

TEST(Kineto, TellsForwardFromBackward) {
  const auto numbered = [](const char* name, int start_us, int duration_us, int sequence, int forward_thread) {
    return on_host(
        "cpu_op", name, start_us, duration_us,
        "\"Sequence number\": " + std::to_string(sequence) + ", \"Fwd thread id\": " + std::to_string(forward_thread));
  };
  const auto flow = [](int start_us) {
    return R"({"ph": "s", "id": 1, "pid": 100, "tid": 100, "ts": )" + std::to_string(start_us) +
           R"(, "cat": "fwdbwd", "name": "fwdbwd"})";
  };
  const ReadTrace read = read_text(trace_of({
      numbered("aten::to", 0, 10, 41, 0),
      on_host("cpu_op", "aten::copy_", 1, 8),
      numbered("aten::mul", 20, 10, 41, 0),
      flow(20),
      numbered("autograd::engine::evaluate_function: MulBackward0", 100, 50, 41, 1),
      numbered("MulBackward0", 105, 40, 41, 1),
      numbered("aten::mul", 110, 20, 60, 0),  // a hook that records for a second derivative
      on_host("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 200, 10),
      copy_call(3, 1),
      copy_call(22, 2),
      copy_call(112, 3),
      copy_call(202, 4),
      copy_call(300, 5),
  }));
  const auto& calls = read.records.calls;
  ASSERT_THAT(calls, SizeIs(5));
  EXPECT_EQ(calls[0].autograd_role, AutogradRole::kForward);
  EXPECT_EQ(calls[0].autograd_sequence, 41u);  // no node was made
  EXPECT_EQ(calls[1].autograd_role, AutogradRole::kForward);
  EXPECT_EQ(calls[1].autograd_sequence, 42u);  // the node 41 was: the next one is 42
  EXPECT_EQ(calls[2].autograd_role, AutogradRole::kBackward);
  EXPECT_EQ(calls[2].autograd_sequence, 41u);
  EXPECT_EQ(calls[3].autograd_role, AutogradRole::kBackward);
  EXPECT_EQ(calls[3].autograd_sequence, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(calls[4].autograd_role, AutogradRole::kUnknown);
}

TEST(Kineto, TurnsAnnotationsIntoRanges) {
  const ReadTrace read = read_text(trace_of({
      on_host("user_annotation", "ProfilerStep#4", 1, 100),
      on_host("user_annotation", "Optimizer.step#AdamW.step", 50, 20),
      event("gpu_user_annotation", "ProfilerStep#4", R"("pid": 0, "tid": 7, "ts": 1, "dur": 2)"),
      copy_call(60, 1),
  }));
  ASSERT_THAT(read.records.ranges, SizeIs(2));
  EXPECT_EQ(read.process.string(read.records.ranges[0].name), "ProfilerStep#4");
  EXPECT_EQ(read.records.ranges[0].start_ns, 1'000);
  EXPECT_EQ(read.records.ranges[0].end_ns, 101'000);
  EXPECT_EQ(read.records.ranges[0].thread, 100u);
  // The optimizer's also tells the phase of the calls inside.
  EXPECT_EQ(read.stack(read.records.calls.at(0).stack), "Optimizer.step#AdamW.step");
}

TEST(Kineto, NamesTheThreadsOfTheHostAndNotTheStreams) {
  const auto name = [](int pid, int tid, const char* text) {
    return R"({"name": "thread_name", "ph": "M", "ts": 0, "pid": )" + std::to_string(pid) + R"(, "tid": )" +
           std::to_string(tid) + R"(, "args": {"name": ")" + text + "\"}}";
  };
  const ReadTrace read =
      read_text(trace_of({on_host("cpu_op", "a::a", 0, 1), name(0, 7, "stream 7 "),
                          name(100, 679, "thread 679 (pt_autograd_0)"), name(100, 100, "main \\\"x\\\"")}));
  std::vector<std::string> names;
  for (const auto& thread : read.records.threads)
    names.push_back(std::to_string(thread.thread) + ' ' + read.process.string(thread.name));
  EXPECT_THAT(names, UnorderedElementsAre("679 pt_autograd_0", "100 main \"x\""));
}

TEST(Kineto, TakesStreamAndEventOfASynchronisationFromItsDeviceRecord) {
  const auto sync = [](const char* kind, int tid, int correlation, const std::string& more) {
    return event("cuda_sync", kind, R"("pid": 1, "tid": )" + std::to_string(tid) + R"(, "ts": 5, "dur": 1)",
                 R"("device": 1, "context": 2, "correlation": )" + std::to_string(correlation) + more);
  };
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "cudaEventRecord", 0, 1, R"("correlation": 1)"),
      on_host("cuda_runtime", "cudaStreamWaitEvent", 2, 1, R"("correlation": 2)"),
      on_host("cuda_runtime", "cudaStreamSynchronize", 4, 1, R"("correlation": 3)"),
      on_host("cuda_runtime", "cudaDeviceSynchronize", 6, 1, R"("correlation": 4)"),
      sync("Stream Wait Event", 7, 2, R"(, "stream": 9, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 1)"),
      sync("Stream Sync", 1'000'007, 3, R"(, "stream": 7)"),  // newer files shift the row, not the argument
      sync("Context Sync", -1, 4, R"(, "stream": -1)"),
  }));
  const auto& calls = read.records.calls;
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_EQ(calls[0].kind, CallKind::kEventRecord);
  EXPECT_NE(calls[0].object, 0u);
  EXPECT_EQ(calls[0].stream, 7u);
  EXPECT_EQ(calls[0].device, 1u);
  EXPECT_EQ(calls[1].kind, CallKind::kStreamWait);
  EXPECT_EQ(calls[1].object, calls[0].object);
  EXPECT_EQ(calls[1].stream, 9u);
  EXPECT_EQ(calls[2].stream, 7u);
  EXPECT_EQ(calls[2].device, 1u);
  EXPECT_EQ(calls[2].context, 2u);
  EXPECT_EQ(calls[3].stream, trace::kUnknownId);
  EXPECT_EQ(calls[3].device, 1u);
}

TEST(Kineto, LeavesOutCallsThatOnlyAsk) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "cudaStreamIsCapturing", 0, 1, R"("correlation": 1)"),
      on_host("cuda_runtime", "INVALID", 2, 1, R"("cbid": 486, "correlation": 2)"),
      on_host("cuda_runtime", "cudaNewLaunch", 4, 1, R"("correlation": 3)"),
      on_device("kernel", "k", 5, 1, R"("correlation": 3)"),
      on_host("cuda_driver", "cuNewCopy", 6, 1, R"("correlation": 4)"),
      copy("Memcpy DtoD (Device -> Device)", 4),
      on_device("kernel", "without a call", 7, 1, R"("correlation": 0)"),
      on_host("cuda_runtime", "cudaEventQuery", 8, 1),
  }));
  // Those of unknown names that caused work are what their work is.
  ASSERT_THAT(read.records.calls, SizeIs(2));
  EXPECT_EQ(read.records.calls[0].kind, CallKind::kLaunch);
  EXPECT_EQ(read.records.calls[1].kind, CallKind::kCopy);
  EXPECT_EQ(read.records.calls[1].api, trace::Api::kDriver);
}

TEST(Kineto, KnowsLaunchesThatAreCapturedIntoAGraph) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "cudaLaunchKernel", 0, 1, R"("correlation": 1)"),
      on_host("cuda_runtime", "cudaStreamBeginCapture", 2, 1, R"("correlation": 2)"),
      on_host("cuda_runtime", "cudaLaunchKernel", 4, 1, R"("correlation": 3)"),
      on_host("cuda_runtime", "cudaStreamEndCapture", 6, 1, R"("correlation": 4)"),
      on_host("cuda_runtime", "cudaLaunchKernel", 8, 1, R"("correlation": 5)"),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(3));
  EXPECT_EQ(read.records.calls[0].is_captured, 0);
  EXPECT_EQ(read.records.calls[1].is_captured, 1);
  EXPECT_EQ(read.records.calls[2].is_captured, 0);
}

TEST(Kineto, KnowsWhatCallsAreFor) {
  const std::pair<const char*, CallKind> cases[] = {
      {"cudaMemcpy", CallKind::kCopy},
      {"cuMemcpyHtoDAsync_v2", CallKind::kCopy},
      {"hipMemcpyWithStream", CallKind::kCopy},
      {"zeCommandListAppendMemoryCopy", CallKind::kCopy},
      {"urEnqueueUSMMemcpy", CallKind::kCopy},
      {"cudaMemsetAsync", CallKind::kMemset},
      {"cudaStreamSynchronize", CallKind::kSynchronize},
      {"hipDeviceSynchronize", CallKind::kSynchronize},
      {"cuCtxSynchronize", CallKind::kSynchronize},
      {"urQueueFinish", CallKind::kSynchronize},
      {"cudaLaunchKernelExC", CallKind::kLaunch},
      {"cuLaunchKernelEx", CallKind::kLaunch},
      {"hipModuleLaunchKernel", CallKind::kLaunch},
      {"hipExtModuleLaunchKernel", CallKind::kLaunch},
      {"urEnqueueKernelLaunch", CallKind::kLaunch},
      {"cudaGraphLaunch", CallKind::kGraphLaunch},
      {"cudaEventRecordWithFlags", CallKind::kEventRecord},
      {"cudaStreamWaitEvent", CallKind::kStreamWait},
      {"cudaMalloc", CallKind::kDeviceAlloc},
      {"cudaMallocAsync", CallKind::kDeviceAlloc},
      {"cudaMallocHost", CallKind::kHostAlloc},
      {"cudaHostAlloc", CallKind::kHostAlloc},
      {"cudaMallocManaged", CallKind::kManagedAlloc},
      {"cudaFree", CallKind::kDeviceFree},
      {"cudaFreeHost", CallKind::kHostFree},
      {"cudaHostRegister", CallKind::kHostRegister},
      {"cudaMemPrefetchAsync", CallKind::kPrefetch},
  };
  for (const auto& [name, kind] : cases) {
    const ReadTrace read = read_text(trace_of({on_host("cuda_runtime", name, 0, 1, R"("correlation": 1)")}));
    ASSERT_THAT(read.records.calls, SizeIs(1)) << name;
    EXPECT_EQ(read.records.calls[0].kind, kind) << name;
  }
  EXPECT_THAT(read_text(trace_of({on_host("cuda_runtime", "cudaLaunchHostFunc", 0, 1)})).records.calls, IsEmpty());
}

TEST(Kineto, CountsACallInsideOfAnotherOnce) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_driver", "cuLaunchKernel", 11, 3, R"("correlation": 5)"),
      on_host("cuda_runtime", "cudaLaunchKernel", 10, 5, R"("correlation": 5)"),
      on_host("cuda_driver", "cuLaunchKernel", 21, 3, R"("correlation": 6)"),
      on_device("kernel", "k", 12, 3, R"("correlation": 5)"),
  }));
  ASSERT_THAT(read.records.calls, SizeIs(2));
  EXPECT_EQ(read.process.string(read.records.calls[0].name), "cudaLaunchKernel");
  EXPECT_EQ(read.records.calls[1].correlation, 6u);
}

// Before 2024-10 an event without an operator carries its own correlation as its External id.
TEST(Kineto, DoesNotLinkByExternalId) {
  const ReadTrace read = read_text(trace_of({
      on_host("cpu_op", "aten::elsewhere", 500, 10, R"("External id": 1)"),
      on_host("cuda_runtime", "cudaMemcpyAsync", 5, 1, R"("External id": 1, "correlation": 1)"),
  }));
  EXPECT_EQ(read.records.calls.at(0).stack, trace::kNoId);
}

TEST(Kineto, PassesOverTheRowsOfTheProfiler) {
  const ReadTrace read = read_text(trace_of({
      event("Trace", "PyTorch Profiler (0)", R"("ts": 1, "dur": 2, "pid": "Spans", "tid": "PyTorch Profiler")"),
      event("overhead", "Activity Buffer Request", R"("pid": -1, "tid": 0, "ts": 1, "dur": 2)"),
      R"({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 4351982497916.668})",
      on_host("cpu_op", "a::a", 0, 1),
  }));
  EXPECT_TRUE(read.process.losses.empty());
  EXPECT_THAT(read.records.samples, SizeIs(1));
  EXPECT_TRUE(read.records.calls.empty() && read.records.ranges.empty());
}

TEST(Kineto, LeavesNumbersThatDoNotFitUnknown) {
  const ReadTrace read = read_text(trace_of({
      event(
          "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", R"("pid": 0, "tid": 7, "ts": 1, "dur": 1)",
          R"("device": 18446744073709551615, "context": -1, "stream": 99999999999, "correlation": 18446744073709551616,
               "bytes": 18446744073709551615)"),
      on_host("cuda_runtime", "cudaMemcpyAsync", 5, 1, R"("correlation": -4)"),
  }));
  ASSERT_THAT(read.records.copies, SizeIs(1));
  EXPECT_EQ(read.records.copies[0].device, 0u);  // the row's
  EXPECT_EQ(read.records.copies[0].context, trace::kUnknownId);
  EXPECT_EQ(read.records.copies[0].stream, trace::kUnknownId);
  EXPECT_EQ(read.records.copies[0].bytes, 0u);
  EXPECT_EQ(read.loss(Loss::kUnknownCopySize), 1u);
  EXPECT_NE(read.records.calls.at(0).correlation, read.records.copies[0].correlation);
}

TEST(Kineto, ReadsGraphNodesWhereTheFileHasThem) {
  const ReadTrace read = read_text(
      trace_of({copy("Memcpy DtoD (Device -> Device)", 3, R"("bytes": 8, "graph id": 2, "graph node id": 17)")}));
  EXPECT_EQ(read.records.copies.at(0).graph, 2u);
  EXPECT_EQ(read.records.copies.at(0).graph_node, 17u);
}

// AMD: the size stands at the call, as text.
TEST(Kineto, ReadsFilesOfAmd) {
  const ReadTrace read = read_text(trace_of({
      on_host("cuda_runtime", "hipMemcpyAsync", 1, 2,
              R"("correlation": 12, "src": "0x7f00", "dst": "0x7f10", "size": "4096", "kind": "Host To Device")"),
      event("gpu_memcpy", "CopyHostToDevice", R"("pid": 2, "tid": 1, "ts": 5, "dur": 6)",
            R"("device": 2, "stream": 1, "correlation": 12, "kind": "CopyHostToDevice", "hsa_queue": 140000000000)"),
      on_host("cuda_runtime", "hipLaunchKernel", 10, 2, R"("correlation": 13, "ptr": "0x0")"),
      event("kernel", "vector_add", R"("pid": 2, "tid": 1, "ts": 15, "dur": 6)",
            R"("device": 2, "stream": 1, "correlation": 13)"),
  }));
  ASSERT_THAT(read.records.copies, SizeIs(1));
  EXPECT_EQ(read.records.copies[0].bytes, 4'096u);
  EXPECT_EQ(read.records.copies[0].copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(read.records.copies[0].is_async, 1);
  EXPECT_EQ(read.records.copies[0].device, 2u);
  EXPECT_EQ(read.records.copies[0].context, trace::kUnknownId);
  EXPECT_THAT(read.records.calls,
              ElementsAre(Field(&CallRecord::kind, CallKind::kCopy), Field(&CallRecord::kind, CallKind::kLaunch)));
  EXPECT_TRUE(read.process.losses.empty());
}

TEST(Kineto, ReadsFilesOfIntel) {
  const ReadTrace read = read_text(trace_of({
      on_host("xpu_runtime", "urEnqueueUSMMemcpy", 1, 2, R"("correlation": 12)"),
      event("gpu_memcpy", "Memcpy M2D(HOST -> DEVICE)", R"("pid": 0, "tid": 1, "ts": 5, "dur": 6)",
            R"("appended": 1, "device": 0, "context": 3, "sycl queue": "0x55", "correlation": 12, "bytes": 100,
               "memory opration id": 7)"),
      on_host("xpu_driver", "zeCommandListAppendLaunchKernel", 10, 2, R"("correlation": 13)"),
      event("kernel", "k", R"("pid": 0, "tid": 1, "ts": 15, "dur": 6)", R"("device": 0, "correlation": 13)"),
  }));
  EXPECT_EQ(read.records.copies.at(0).bytes, 100u);
  EXPECT_EQ(read.records.copies.at(0).copy_kind, CopyKind::kHostToDevice);
  EXPECT_THAT(read.records.calls, SizeIs(2));
  EXPECT_THAT(read.records.kernels, SizeIs(1));
}

TEST(Kineto, SaysWhereAThreadWasBetweenCalls) {
  const ReadTrace read = read_text(trace_of({
      on_host("python_function", "train.py(1): main", 0, 1'000),
      on_host("cpu_op", "aten::sort", 350, 300),
      on_host("cpu_op", "aten::later", 10'000, 100),
      copy_call(20'000, 1),
  }));
  std::vector<std::string> places;
  for (const auto& sample : read.records.samples) {
    places.push_back(std::to_string(sample.time_ns / 1'000) + ' ' + read.stack(sample.stack));
  }
  // Every 200 us from the first span on; nothing where nothing is open.
  EXPECT_THAT(places, ElementsAre("0 train.py(1): main", "200 train.py(1): main", "400 aten::sort < train.py(1): main",
                                  "600 aten::sort < train.py(1): main", "800 train.py(1): main", "10000 aten::later"));
  EXPECT_THAT(read_text(trace_of({copy_call(0, 1), copy_call(1000, 2)})).records.samples, IsEmpty());
}

TEST(Kineto, TakesNoMoreThanSoManySamples) {
  const ReadTrace read = read_text(trace_of({
      event("cpu_op", "aten::long", R"("pid": 1, "tid": 1, "ts": 0, "dur": 2305843009213693)"),
      event("cpu_op", "aten::long", R"("pid": 1, "tid": 2, "ts": -2305843009213693, "dur": 1)"),
      event("cpu_op", "aten::long", R"("pid": 1, "tid": 2, "ts": 2305843009213692, "dur": 1)"),
  }));
  EXPECT_GT(read.records.samples.size(), 100u);
  EXPECT_LE(read.records.samples.size(), 20'010u);
}

}  // namespace
}  // namespace turnpike::ingest
