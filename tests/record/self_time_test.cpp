// TURNPIKE_SELF_TIME=1: what the program's threads spend inside of the recorder, without what CUDA takes itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

struct Spent {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

Spent spent_in(const Trace& trace) {
  Spent spent;
  const std::string text = trace.metadata("self_time");
  EXPECT_EQ(std::sscanf(text.c_str(), "count=%lu ns=%lu", &spent.count, &spent.ns), 2) << text;
  return spent;
}

Variables counted(const Variables& more) {
  Variables all = more;
  all["TURNPIKE_SELF_TIME"] = "1";
  return all;
}

TEST(SelfTime, HoldsWhatACallbackWaitsForCupti) {
  const VictimRun run({"uploads", "20"}, {.variables = counted({{"FAKE_CUPTI_QUESTION_MS", "100"}})});
  ASSERT_EQ(run.outcome().exit_code, 3) << run.outcome().err;
  const std::uint64_t questions = run.truth().at("questions");
  ASSERT_GE(questions, 2u) << "the device and its default stream";
  EXPECT_GE(spent_in(run.trace()).ns, questions * 100'000'000);
}

TEST(SelfTime, HoldsNothingOfTheCallsThemselves) {
  const VictimRun run({"uploads", "20"}, {.variables = counted({{"FAKE_CUDA_WORK_NS", "50000000"}})});
  ASSERT_EQ(run.outcome().exit_code, 3) << run.outcome().err;
  const Trace trace = run.trace();
  std::int64_t called_ns = 0;
  for (const trace::CallRecord& call : trace.calls) called_ns += call.end_ns - call.start_ns;
  EXPECT_GE(called_ns, 900'000'000) << "the wait for 20 copies";
  const Spent spent = spent_in(trace);
  EXPECT_GT(spent.ns, 0u);
  EXPECT_LT(spent.ns, 450'000'000u);
}

TEST(SelfTime, CountsEachCallbackAndWhatNvtxCalls) {
  const VictimRun run({"ranges"}, {.variables = counted({})});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const auto truth = run.truth();
  constexpr std::uint64_t kNvtxEvents = 12;
  const Spent spent = spent_in(run.trace());
  EXPECT_GE(spent.count, truth.at("callbacks") + kNvtxEvents);
  EXPECT_LE(spent.count, truth.at("callbacks") + kNvtxEvents + truth.at("requests") + truth.at("completions"));
}

TEST(SelfTime, CountsBuffersThatTheProgramsThreadsAskFor) {
  const VictimRun run({"uploads", "20"},
                      {.variables = counted({{"FAKE_CUPTI_PER_THREAD", "1"}, {"FAKE_CUPTI_BUFFER_RECORDS", "1"}})});
  ASSERT_EQ(run.outcome().exit_code, 3) << run.outcome().err;
  EXPECT_GT(spent_in(run.trace()).count, run.truth().at("callbacks") + 10);
}

TEST(SelfTime, IsNotCountedUnlessAskedFor) {
  for (const char* value : {"", "0"}) {
    const VictimRun run({"uploads", "20"}, {.variables = {{"TURNPIKE_SELF_TIME", value}}});
    EXPECT_EQ(run.trace().metadata("self_time"), "") << value;
  }
}

TEST(SelfTime, IsOfEachRecordingAlone) {
  const ScratchFolder folder;
  const auto first_run = folder.path() / "a.tpk";
  const auto second_run = folder.path() / "b.tpk";
  const VictimRun run(
      {"sessions", record_library(), first_run, second_run},
      {.variables = counted({{"CUDA_INJECTION64_PATH", ""}, {"NVTX_INJECTION64_PATH", ""}, {TURNPIKE_ENV_RUN, ""}})});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  std::uint64_t sum = 0;
  for (const auto& path : {first_run, second_run}) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const Spent spent = spent_in(read_trace(entry.path()));
      EXPECT_GT(spent.count, 0u);
      sum += spent.count;
    }
  }
  const auto truth = run.truth();
  EXPECT_LE(sum, truth.at("callbacks") + truth.at("requests") + truth.at("completions"));
}

}  // namespace
}  // namespace turnpike::record_tests
