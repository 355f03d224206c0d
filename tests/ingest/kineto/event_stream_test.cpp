// The way from bytes to events: windows, truncation, damage, odd JSON.
#include <gmock/gmock.h>

#include "ingest/kineto_trace.h"

namespace turnpike::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Loss;

std::string op(const std::string& name, int start_us) {
  return on_host("cpu_op", name, start_us, 5);
}

std::vector<std::string> operator_names(const ReadTrace& read) {
  std::vector<std::string> names;
  for (const auto& sample : read.records.samples) names.push_back(read.stack(sample.stack));
  return names;
}

std::string message_of(std::string_view text) {
  TextSource source(text);
  Records records;
  const auto process = read_kineto(source, "trace.json", records);
  EXPECT_FALSE(process);
  return process ? "" : process.error().message;
}

// One of each kind, some apart by more than the pitch of samples.
std::vector<std::string> some_of_everything() {
  return {
      on_host("user_annotation", "ProfilerStep#3", 0, 900),
      on_host("python_function", "train.py(12): step", 1, 800),
      on_host("python_function", "<built-in method to of Tensor object at 0x7f00>", 2, 300),
      on_host("cpu_op", "aten::to", 10, 200, R"("External id": 1, "Sequence number": 4, "Fwd thread id": 0)"),
      on_host("cuda_runtime", "cudaMemcpyAsync", 20, 30, R"("cbid": 41, "correlation": 9)"),
      on_device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 40, 50, R"("correlation": 9, "bytes": 4096)"),
      on_host("cuda_runtime", "cudaLaunchKernel", 100, 5, R"("correlation": 10)"),
      on_device("kernel", "void f<int>(x)", 110, 20, R"("correlation": 10, "grid": [4, 64, 1])"),
      R"({"ph": "s", "id": 9, "pid": 100, "tid": 100, "ts": 20, "cat": "ac2g", "name": "ac2g"})",
      R"j({"name": "thread_name", "ph": "M", "ts": 0, "pid": 100, "tid": 100, "args": {"name": "thread 100 (python)"}})j",
  };
}

TEST(KinetoStream, ReadsTheSameThroughEveryWindow) {
  const std::string text = trace_of(some_of_everything(), R"("baseTimeNanoseconds": 5, )");
  const ReadTrace whole = read_text(text);
  ASSERT_EQ(whole.records.calls.size(), 2u);
  ASSERT_EQ(whole.records.copies.size(), 1u);
  EXPECT_TRUE(whole.process.losses.empty());
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u, 65536u}) {
    for (const std::size_t window : {1u, 16u, 100u, 65536u}) {
      const ReadTrace read = read_text(text, piece, window);
      EXPECT_EQ(read.records.bytes, whole.records.bytes) << piece << ' ' << window;
      EXPECT_TRUE(read.process.losses.empty()) << piece << ' ' << window;
    }
  }
}

TEST(KinetoStream, UsesWhatIsWholeOfAFileCutOffAnywhere) {
  const std::string text = trace_of({op("a::a", 0), op("b::b", 1000), op("c::c", 2000)});
  const auto first_end = text.find("},\n") + 1;
  for (std::size_t size = first_end; size < text.rfind(']'); ++size) {
    const ReadTrace read = read_text(std::string_view(text).substr(0, size));
    EXPECT_EQ(read.loss(Loss::kNotClosed), 1u) << size;
    EXPECT_EQ(read.loss(Loss::kUnreadableEvent), 0u) << size;
    const auto names = operator_names(read);
    ASSERT_FALSE(names.empty()) << size;
    EXPECT_EQ(names.front(), "a::a") << size;
  }
  const ReadTrace read = read_text(std::string_view(text).substr(0, text.find("c::c")));
  EXPECT_THAT(operator_names(read), ElementsAre("a::a", "b::b"));
  EXPECT_EQ(read.loss(Loss::kDamagedBytes), std::string(R"({"ph": "X", "cat": "cpu_op", "name": ")").size());
}

TEST(KinetoStream, LosesOnlyTheEventThatCannotBeRead) {
  const std::vector<std::string> broken = {
      R"({"ph": "X", "cat": "cpu_op", "name": "a "quoted" word", "ts": 1, "dur": 1})",  // not escaped
      R"({"ph": "X", "cat": "cpu_op", "name": "no end, "ts": 1, "dur": 1})",
      R"({"ph": "X", "cat": "cpu_op", "name": "x", "ts": , "dur": 1})",
      R"({"ph": "X" "cat": "cpu_op"})",
      R"({"ph": "X", "args": {"a": "b"c"}})",
      R"({"ph": "X", "args": {"a": {"name": "b"c"}}})",
      "{\"ph\": \"X\", \"name\": \"line\nbreak\"}",
      R"({"ph": "X", "name": "nul )" + std::string(1, '\0') + R"("})",
      R"({{{{)",
      R"(@)",
      R"(12)",
      R"("text")",
      R"(null)",
  };
  for (const std::string& bad : broken) {
    for (const std::size_t piece : {1u << 20, 5u}) {
      const ReadTrace read = read_text(trace_of({op("a::a", 0), bad, op("b::b", 1000)}), piece);
      EXPECT_THAT(operator_names(read), ElementsAre("a::a", "b::b")) << bad;
      EXPECT_EQ(read.loss(Loss::kUnreadableEvent), 1u) << bad;
      EXPECT_EQ(read.loss(Loss::kDamagedBytes), 0u) << bad;
      EXPECT_EQ(read.loss(Loss::kNotClosed), 0u) << bad;
    }
  }
}

TEST(KinetoStream, ReadsOddButValidEvents) {
  const std::string text = trace_of({
      op("invalid \xFF\xFE utf-8", 0),
      op(R"(esc \" \\ \/ \u00e9 \ud83d\ude00 \n)", 1000),
      R"({"args": {"x": NaN, "y": -Infinity, "deep": [[[{}]]]}, "dur": 5, "ts": 2000, "tid": 100, "pid": 100,
          "name": "order", "cat": "cpu_op", "ph": "X"})",
      R"({"ph": "X", "cat": "cpu_op", "name": "first", "name": "twice", "pid": 100, "tid": 100, "ts": 1, "ts": 3000, "dur": 5})",
      on_host("cpu_op", "huge", 4000, 5, R"("External id": 99999999999999999999999, "Sequence number": 1e400)"),
  });
  const ReadTrace read = read_text(text);
  EXPECT_THAT(operator_names(read),
              ElementsAre("invalid \xFF\xFE utf-8", "esc \" \\ / \u00e9 \U0001F600 \n", "order", "twice", "huge"));
  EXPECT_TRUE(read.process.losses.empty());
}

TEST(KinetoStream, ReadsAnyDepth) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const ReadTrace read = read_text(trace_of({on_host("cpu_op", "a::a", 0, 5, "\"deep\": " + deep), op("b::b", 1000)}));
  EXPECT_THAT(operator_names(read), ElementsAre("a::a", "b::b"));
  EXPECT_TRUE(read.process.losses.empty());
}

TEST(KinetoStream, LeavesOutAnEventThatIsTooLong) {
  const std::string filler(5'000, 'x');
  const std::string text = trace_of({op("a::a", 0), op(filler, 500), op("b::b", 1000)});
  const ReadTrace read = read_text(text, 100, 256, 1'000);
  EXPECT_THAT(operator_names(read), ElementsAre("a::a", "b::b"));
  EXPECT_EQ(read.loss(Loss::kUnreadableEvent), 1u);
  EXPECT_EQ(read_text(text, 100, 256, 6'000).loss(Loss::kUnreadableEvent), 0u);
}

TEST(KinetoStream, TakesAListWithoutAnObject) {
  EXPECT_THAT(operator_names(read_text("[" + op("a::a", 0) + "," + op("b::b", 1000) + "]")),
              ElementsAre("a::a", "b::b"));
  EXPECT_EQ(read_text("\xEF\xBB\xBF \n[" + op("a::a", 0) + ",]").loss(Loss::kUnreadableEvent), 0u);
}

TEST(KinetoStream, TakesKeysBeforeAndBehindTheEvents) {
  const std::string devices = R"("deviceProperties": [{"id": 1, "name": "GPU \"A\"", "numSms": 132,
      "totalGlobalMem": 150109880320, "other": {"x": [1]}}, {"id": -3}, {"name": "no id"}], )";
  const std::string ranks =
      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0]}]}, )";
  const std::string versions = R"("cuda_runtime_version": 12040, "cupti_version": 24, )";
  const ReadTrace before =
      read_text(trace_of({op("a::a", 7)}, devices + ranks + versions + R"("baseTimeNanoseconds": 1000000, )"));
  const ReadTrace behind =
      read_text(trace_of({op("a::a", 7)}, "", ", " + devices + ranks + versions + R"("baseTimeNanoseconds": 1000000)"));
  for (const ReadTrace& read : {before, behind}) {
    ASSERT_EQ(read.records.devices.size(), 1u);
    EXPECT_EQ(read.records.devices[0].device, 1u);
    EXPECT_EQ(read.records.devices[0].multiprocessors, 132u);
    EXPECT_EQ(read.records.devices[0].memory_bytes, 150109880320u);
    EXPECT_EQ(read.process.string(read.records.devices[0].name), "GPU \"A\"");
    EXPECT_EQ(read.process.metadata.at("rank"), "3");
    EXPECT_EQ(read.process.metadata.at("world_size"), "8");
    EXPECT_EQ(read.process.metadata.at("cuda_runtime_version"), "12.4");
    EXPECT_EQ(read.process.metadata.at("cupti_version"), "24");
    ASSERT_EQ(read.records.samples.size(), 1u);
    EXPECT_EQ(read.records.samples[0].time_ns, 1'007'000);
  }
}

TEST(KinetoStream, SaysWhatAFileIsThatIsNoTrace) {
  EXPECT_THAT(message_of(""), HasSubstr("does not hold JSON"));
  EXPECT_THAT(message_of("  \n "), HasSubstr("does not hold JSON"));
  EXPECT_THAT(message_of("hello"), HasSubstr("does not hold JSON"));
  EXPECT_THAT(message_of(R"({"a": 1})"), HasSubstr("traceEvents"));
  EXPECT_THAT(message_of(R"({"traceEvents": 5})"), HasSubstr("traceEvents"));
  EXPECT_THAT(message_of("{"), HasSubstr("traceEvents"));
  EXPECT_THAT(message_of(R"({"traceEvents": []})"), HasSubstr("no events of torch.profiler"));
  EXPECT_THAT(message_of(R"([{"ph": "X", "cat": "v8", "name": "x", "ts": 1, "dur": 1}])"),
              HasSubstr("no events of torch.profiler"));
}

}  // namespace
}  // namespace turnpike::ingest
