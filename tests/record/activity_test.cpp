// How the recorder takes what CUPTI delivers: in any order, late, in other shapes, with holes, or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

std::multiset<std::uint64_t> upload_sizes(const Trace& trace) {
  std::multiset<std::uint64_t> sizes;
  for (const auto& copy : trace.copies) {
    if (copy.copy_kind == trace::CopyKind::kHostToDevice) sizes.insert(copy.bytes);
  }
  return sizes;
}

// Every upload of `uploads COUNT` once, each joined to the call that named the same bytes.
void expect_all_uploads(const Trace& trace, std::uint64_t count) {
  const auto sizes = upload_sizes(trace);
  EXPECT_EQ(sizes.size(), count);
  EXPECT_EQ(std::set<std::uint64_t>(sizes.begin(), sizes.end()).size(), count);
  std::map<std::uint32_t, std::uint64_t> bytes_of_call;
  for (const auto& call : trace.calls) bytes_of_call[call.correlation] = call.bytes;
  for (const auto& copy : trace.copies) EXPECT_EQ(bytes_of_call[copy.correlation], copy.bytes);
}

TEST(Activity, OrderOfDeliveryDoesNotMatter) {
  const Trace trace = VictimRun({"uploads", "3000"}, {.variables = {{"FAKE_CUPTI_REORDER", "7"}}}).trace();
  expect_all_uploads(trace, 3000);
  EXPECT_EQ(trace.losses(), "");
}

TEST(Activity, LateRecordsAreCollectedAtTheEnd) {
  const Trace trace = VictimRun({"uploads", "500"}, {.variables = {{"FAKE_CUPTI_DELAY_MS", "60000"}}}).trace();
  expect_all_uploads(trace, 500);
  EXPECT_EQ(trace.losses(), "");
}

TEST(Activity, DroppedRecordsAreCountedExactly) {
  const VictimRun run({"uploads", "5000"}, {.variables = {{"FAKE_CUPTI_DROP", "7"}}});
  const Trace trace = run.trace();
  EXPECT_EQ(run.truth().at("dropped"), (run.truth().at("produced")) / 7);
  EXPECT_EQ(trace.loss(Loss::kCuptiDropped), run.truth().at("dropped"));
  EXPECT_EQ(trace.copies.size() + trace.loss(Loss::kCuptiDropped), run.truth().at("produced"));
  EXPECT_EQ(run.outcome().exit_code, 3);
}

TEST(Activity, UnknownKindsAreSteppedOverAndCounted) {
  const Trace trace = VictimRun({"uploads", "1000"}, {.variables = {{"FAKE_CUPTI_UNKNOWN", "10"}}}).trace();
  expect_all_uploads(trace, 1000);
  EXPECT_EQ(trace.loss(Loss::kUnknownActivity), 1001u / 10);
}

TEST(Activity, LongerStructuresOfANewerCuptiAreRead) {
  const Trace trace = VictimRun({"every_kind"}, {.variables = {{"FAKE_CUPTI_GROW", "24"}}}).trace();
  EXPECT_EQ(trace.copies.size(), 13u);
  EXPECT_EQ(trace.kernels.size(), 2u);
  EXPECT_EQ(trace.memsets.size(), 2u);
  EXPECT_EQ(trace.losses(), "");
}

TEST(Activity, ShorterStructuresOfAnOlderCuptiAreNotReadBeyondTheirEnd) {
  // CUPTI 12.6: copies have no count, and behind each stands the next record.
  const Trace trace = VictimRun({"every_kind"}, {.variables = {{"FAKE_CUPTI_VERSION", "24"}}}).trace();
  EXPECT_EQ(trace.copies.size(), 13u);
  for (const auto& copy : trace.copies) EXPECT_EQ(copy.copy_count, 1u);
  EXPECT_EQ(trace.losses(), "");
}

TEST(Activity, MissingTimesAreUnknownNotZero) {
  const Trace trace = VictimRun({"uploads", "1000"}, {.variables = {{"FAKE_CUPTI_ZERO_TIMES", "5"}}}).trace();
  expect_all_uploads(trace, 1000);
  std::uint64_t unknown = 0;
  for (const auto& copy : trace.copies) {
    EXPECT_EQ(copy.start_ns == trace::kUnknownTime, copy.end_ns == trace::kUnknownTime);
    unknown += copy.start_ns == trace::kUnknownTime;
    EXPECT_NE(copy.start_ns, 0);
  }
  EXPECT_EQ(unknown, 1001u / 5);
  EXPECT_EQ(trace.loss(Loss::kInvalidDeviceTimes), unknown);
}

TEST(Activity, RawTicksAreLedBackOrSaidToBeUnknown) {
  const Trace trace = VictimRun({"paced", "200", "3"}, {.variables = {{"FAKE_CUPTI_TSC_AFTER", "100"}}}).trace();
  ASSERT_EQ(trace.copies.size(), 200u);
  std::uint64_t unknown = 0;
  for (const auto& copy : trace.copies) {
    if (copy.start_ns == trace::kUnknownTime) {
      ++unknown;
      continue;
    }
    // Generous: on a loaded machine a thread may lose its processor between the readings of two clocks.
    const trace::CallRecord* call = trace.call_of(copy.correlation);
    ASSERT_NE(call, nullptr);
    EXPECT_NEAR(static_cast<double>(copy.start_ns), static_cast<double>(call->start_ns), 50e6);
  }
  EXPECT_EQ(trace.loss(Loss::kInvalidDeviceTimes), unknown);
}

// In WSL2 CUPTI's clock is another one than the host's, and has been since the start of the machine.
TEST(Activity, TimesOfAnotherClockAreLedToTheHosts) {
  const Trace trace = VictimRun({"paced", "200", "3"}, {.variables = {{"FAKE_CUPTI_RAW_CLOCK", "1"}}}).trace();
  ASSERT_EQ(trace.copies.size(), 200u);
  std::vector<double> apart;
  for (const auto& copy : trace.copies) {
    const trace::CallRecord* call = trace.call_of(copy.correlation);
    ASSERT_NE(call, nullptr);
    ASSERT_NE(copy.start_ns, trace::kUnknownTime);
    apart.push_back(static_cast<double>(copy.start_ns - call->start_ns));
  }
  // Generous, as above; the middle one shows that it is no guess.
  for (const double each : apart) EXPECT_NEAR(each, 0, 50e6);
  std::nth_element(apart.begin(), apart.begin() + 100, apart.end());
  EXPECT_NEAR(apart[100], 0, 1e6);
  EXPECT_EQ(trace.losses(), "other_device_clock=1 ");
}

TEST(Activity, IsNeverFlushedFromBuffersOfSingleThreads) {
  const VictimRun run({"threads", "4", "100"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.trace().copies.size(), 400u);
  EXPECT_EQ(run.truth().at("unsafe_flushes"), 0u);
}

// As where copies of several threads overlap all the time.
TEST(Activity, ThatComesOnlyWithFullBuffersIsNoSilence) {
  const VictimRun run({"waited_for", "250", "10"}, {.variables = {{"FAKE_CUPTI_KEEP_UNTIL_FULL", "1"}}});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.trace().copies.size(), 250u);
  EXPECT_EQ(run.trace().losses(), "");
}

TEST(Activity, SmallBuffersOfManyThreadsLoseNothing) {
  const VictimRun run({"threads", "16", "500"},
                      {.variables = {{"FAKE_CUPTI_BUFFER_RECORDS", "100"}, {"FAKE_CUPTI_PER_THREAD", "1"}}});
  const Trace trace = run.trace();
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(trace.copies_of(100 + i).size(), 500u) << i;
  EXPECT_GE(run.truth().at("requests"), 80u);
  EXPECT_EQ(run.truth().at("requests"), run.truth().at("completions"));
  EXPECT_EQ(trace.losses(), "");
}

TEST(Activity, RequestsInAStormOfThreadsAreAccountedFor) {
  // ThreadSanitizer needs minutes for the locks of 64, and one for 500 uploads of 8.
  const VictimRun run({"threads", is_sanitized() ? "8" : "64", is_sanitized() ? "100" : "500"},
                      {.variables = {{"FAKE_CUPTI_BUFFER_RECORDS", "4"}, {"FAKE_CUPTI_PER_THREAD", "1"}}});
  const Trace trace = run.trace();
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const std::uint64_t lost = trace.loss(Loss::kActivityBuffersFull) + trace.loss(Loss::kCuptiDropped);
  EXPECT_EQ(trace.copies.size() + lost, run.truth().at("produced")) << trace.losses();
  EXPECT_EQ(run.truth().at("requests"), run.truth().at("completions"));
}

TEST(Activity, ExhaustedBuffersAreCountedToTheRecord) {
  // A buffer for each of 1100 threads, all held at once: more than the pool has.
  const VictimRun run({"threads", "1100", "2"},
                      {.variables = {{"FAKE_CUPTI_PER_THREAD", "1"}, {"FAKE_CUPTI_PERIOD_MS", "60000"}}});
  const Trace trace = run.trace();
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const std::uint64_t lost = trace.loss(Loss::kActivityBuffersFull) + trace.loss(Loss::kCuptiDropped);
  EXPECT_EQ(trace.copies.size() + lost, run.truth().at("produced")) << trace.losses();
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 2200u);
  if (!is_sanitized()) {
    EXPECT_LT(run.outcome().peak_memory_bytes, std::int64_t{256} << 20);
  }
}

TEST(Activity, BuffersTakenByAnotherToolAreMissedButHarmless) {
  const VictimRun plain({"steal_buffers"}, {.is_recorded = false});
  const VictimRun run({"steal_buffers"});
  EXPECT_EQ(run.outcome().exit_code, plain.outcome().exit_code);
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies_of(21).size(), 20u);
  EXPECT_EQ(trace.copies_of(22).size(), 0u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 40u);
}

TEST(Activity, IsTakenBackFromAProfilerThatHasEnded) {
  const VictimRun run({"profiler_inside"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies_of(21).size(), 20u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 220u);
  // Of four seconds, the first is silent.
  EXPECT_GT(trace.copies_of(22).size(), is_sanitized() ? 0u : 80u);
  EXPECT_LT(trace.copies_of(22).size(), 170u);
  EXPECT_EQ(trace.loss(trace::Loss::kOtherCuptiUser), 1u) << trace.losses();
}

}  // namespace
}  // namespace turnpike::record_tests
