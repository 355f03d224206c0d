// NVTX ranges, and the switches that narrow what is recorded: capture ranges, delay and duration.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

class Nvtx : public testing::Test {
 protected:
  static void SetUpTestSuite() { trace_ = new Trace(VictimRun({"ranges"}).trace()); }
  static void TearDownTestSuite() { delete trace_; }
  static std::vector<trace::RangeRecord> ranges_named(const std::string& name) {
    std::vector<trace::RangeRecord> found;
    for (const auto& range : trace_->ranges) {
      if (trace_->process.string(range.name) == name) found.push_back(range);
    }
    return found;
  }
  static Trace* trace_;
};
Trace* Nvtx::trace_ = nullptr;

TEST_F(Nvtx, RangesNestAndSurroundTheirCopies) {
  const auto outer = ranges_named("outer");
  const auto inner = ranges_named("inner");
  ASSERT_EQ(outer.size(), 1u);
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_LE(outer[0].start_ns, inner[0].start_ns);
  EXPECT_GE(outer[0].end_ns, inner[0].end_ns);
  const auto copies = trace_->copies_of(64);
  ASSERT_EQ(copies.size(), 1u);
  const trace::CallRecord* call = trace_->call_of(copies[0].correlation);
  ASSERT_NE(call, nullptr);
  EXPECT_LE(inner[0].start_ns, call->start_ns);
  EXPECT_GE(inner[0].end_ns, call->end_ns);
  EXPECT_EQ(inner[0].thread, call->thread);
  EXPECT_EQ(inner[0].end_thread, call->thread);
}

TEST_F(Nvtx, DomainColourAndRegisteredNamesAreKept) {
  const auto coloured = ranges_named("coloured");
  ASSERT_EQ(coloured.size(), 1u);
  EXPECT_EQ(coloured[0].color, 0xFF112233u);
  EXPECT_EQ(trace_->process.string(coloured[0].domain), "my domain");
  const auto registered = ranges_named("registered");
  ASSERT_EQ(registered.size(), 1u);
  EXPECT_EQ(trace_->process.string(registered[0].domain), "my domain");
}

TEST_F(Nvtx, RangeThatCrossesThreadsHasBoth) {
  const auto crossing = ranges_named("crossing");
  ASSERT_EQ(crossing.size(), 1u);
  EXPECT_NE(crossing[0].thread, crossing[0].end_thread);
  EXPECT_LE(crossing[0].start_ns, crossing[0].end_ns);
}

TEST_F(Nvtx, MarkIsAnInstant) {
  const auto marks = ranges_named("mark");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].start_ns, marks[0].end_ns);
}

TEST_F(Nvtx, OnlyWhatEndedIsWritten) {
  EXPECT_TRUE(ranges_named("never popped").empty());
  EXPECT_EQ(trace_->ranges.size(), 6u);
  EXPECT_EQ(trace_->losses(), "");
}

void expect_only_inside(const Trace& trace) {
  EXPECT_EQ(trace.copies_of(3001).size(), 0u);
  EXPECT_EQ(trace.copies_of(3002).size(), 14u);
  EXPECT_EQ(trace.copies_of(3003).size(), 0u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 14u);
  EXPECT_EQ(trace.losses(), "");
}

TEST(NumberedRanges, TakeNoNamesFromTheRest) {
  const VictimRun run({"numbered_ranges"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_EQ(trace.ranges.size(), 6'700u);
  const auto is_nameless = [](const trace::RangeRecord& range) { return range.name == trace::kNoId; };
  const auto nameless = std::count_if(trace.ranges.begin(), trace.ranges.end(), is_nameless);
  EXPECT_GT(nameless, 400);
  EXPECT_EQ(trace.loss(trace::Loss::kNamesFull), static_cast<std::uint64_t>(nameless)) << trace.losses();
  ASSERT_EQ(trace.kernels.size(), 1u);
  EXPECT_EQ(trace.process.string(trace.kernels[0].name), "_Z6kernelPf");
}

// Variables of a program that waits for `turnpike attach`.
Variables dormant() {
  return {{TURNPIKE_ENV_RUN, ""}, {"TURNPIKE_CONTROL", "1"}};
}

TEST(DormantRanges, CostNoMemoryAndTakeNoNames) {
  const ScratchFolder folder;
  const auto file = folder.path() / "a.tpk";
  const VictimRun run({"ranges_before", record_library(), file, "5000", "1000000"}, {.variables = dormant()});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  std::istringstream numbers(run.outcome().out);
  std::int64_t bytes = 0, first_ns = 0, last_ns = 0;
  numbers >> bytes >> first_ns >> last_ns;
  if (!is_sanitized()) {
    EXPECT_LT(bytes, 2 << 20) << "10,000 threads";
  }
  EXPECT_LT(last_ns, first_ns * 3 / 2 + 20'000) << "a thread does not wait for those that have ended";
  const auto files = trace::run_files(file);
  ASSERT_TRUE(files && files->size() == 1);
  const Trace trace = read_trace(files->at(0));
  EXPECT_EQ(trace.ranges.size(), 50u);
  for (std::size_t i = 0; i < trace.ranges.size(); ++i) {
    EXPECT_EQ(trace.process.string(trace.ranges[i].name), "measured " + std::to_string(i));
  }
  EXPECT_EQ(trace.losses(), "");
}

TEST(RangesOfAnEndedRecording, CostNoMemory) {
  const ScratchFolder folder;
  // The file is soon full, and then the process is not recorded any more.
  const VictimRun run({"ranges_before", record_library(), folder.path() / "a.tpk", "5000", "10"},
                      {.variables = {{"TURNPIKE_MAX_BYTES", "1000000"}}});
  std::istringstream numbers(run.outcome().out);
  std::int64_t bytes = 0, first_ns = 0, last_ns = 0;
  numbers >> bytes >> first_ns >> last_ns;
  ASSERT_NE(last_ns, 0) << run.outcome().out << run.outcome().err;
  EXPECT_EQ(run.trace().loss(trace::Loss::kStoppedAtSize), 1u);
  if (!is_sanitized()) {
    EXPECT_LT(bytes, 2 << 20) << "10,000 threads";
  }
  EXPECT_LT(last_ns, first_ns * 3 / 2 + 20'000);
}

// Variables of a thread are destroyed before its last destructors run, and before those of static objects.
class LateRanges : public testing::TestWithParam<const char*> {};
TEST_P(LateRanges, LeaveTheProgramsMemoryAlone) {
  for (const bool is_dormant : {false, true}) {
    Setting setting;
    if (is_dormant) setting.variables = dormant();
    const VictimRun run({"late_ranges", GetParam()}, setting);
    EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
    EXPECT_EQ(run.outcome().signal, 0);
    EXPECT_EQ(run.outcome().out, "late\n");
  }
}
INSTANTIATE_TEST_SUITE_P(Nvtx, LateRanges, testing::Values("static", "exit", "key"));

TEST(CaptureRange, ProfilerApiSwitchesRecording) {
  const VictimRun run({"profiler_range"}, {.variables = {{"TURNPIKE_CAPTURE_RANGE", "cuda-profiler-api"}}});
  EXPECT_EQ(run.outcome().out, "profiler range\n");
  expect_only_inside(run.trace());
}

TEST(CaptureRange, ProfilerApiMeansNothingWithoutTheOption) {
  const Trace trace = VictimRun({"profiler_range"}).trace();
  EXPECT_EQ(trace.copies.size(), 44u);
}

TEST(CaptureRange, NvtxRangeSwitchesRecording) {
  const VictimRun run({"nvtx_range"}, {.variables = {{"TURNPIKE_CAPTURE_RANGE", "nvtx:wanted"}}});
  EXPECT_EQ(run.outcome().out, "nvtx range\n");
  expect_only_inside(run.trace());
}

// CUPTI 13.0 before its first update may deadlock when kernels are disabled.
TEST(CaptureRange, KernelsOutsideAreLeftOutAlsoWhereTheyCannotBeDisabled) {
  for (const char* version : {"130000", "130001"}) {
    const VictimRun run({"kernel_range"}, {.variables = {{"TURNPIKE_CAPTURE_RANGE", "cuda-profiler-api"},
                                                         {"FAKE_CUPTI_VERSION", version}}});
    EXPECT_EQ(run.outcome().out, "kernel range\n");
    const Trace trace = run.trace();
    EXPECT_EQ(trace.kernels.size(), 14u) << version;
    EXPECT_EQ(trace.losses(), "") << version;
    EXPECT_EQ(run.truth().at("kernel_disables") == 0, version == std::string("130000"));
  }
}

TEST(CaptureRange, RangeThatNeverComesRecordsNothing) {
  const Trace trace = VictimRun({"nvtx_range"}, {.variables = {{"TURNPIKE_CAPTURE_RANGE", "nvtx:absent"}}}).trace();
  EXPECT_TRUE(trace.copies.empty());
  EXPECT_TRUE(trace.calls.empty());
  EXPECT_TRUE(trace.process.end.has_value());
}

// Uploads of 1, 2, 3, ... bytes, one each 2 ms: which sizes are there tells when recording was on. A busy machine makes
// fewer in the same time, so only the first and the last must be missing.
struct Seen {
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t count;
};
Seen seen_of(const Trace& trace) {
  Seen seen{~0ull, 0, 0};
  for (const auto& copy : trace.copies) {
    seen.first = std::min(seen.first, copy.bytes);
    seen.last = std::max(seen.last, copy.bytes);
    ++seen.count;
  }
  return seen;
}

TEST(Delay, TheBeginningIsLeftOut) {
  const Trace trace = VictimRun({"paced", "200", "2"}, {.variables = {{"TURNPIKE_DELAY_MS", "150"}}}).trace();
  const Seen seen = seen_of(trace);
  EXPECT_GT(seen.first, 1u);
  EXPECT_EQ(seen.last, 200u);
  EXPECT_EQ(seen.count, seen.last - seen.first + 1) << "no hole";
}

TEST(Duration, TheEndIsLeftOut) {
  const VictimRun run({"paced", "200", "2"}, {.variables = {{"TURNPIKE_DURATION_MS", "150"}}});
  EXPECT_EQ(run.outcome().out, "paced 200\n");
  const Seen seen = seen_of(run.trace());
  EXPECT_EQ(seen.first, 1u);
  EXPECT_LT(seen.last, 200u);
  EXPECT_GT(seen.last, 1u);
  EXPECT_EQ(seen.count, seen.last);
}

TEST(Duration, CountsFromTheEndOfTheDelay) {
  const Trace trace =
      VictimRun({"paced", "300", "2"}, {.variables = {{"TURNPIKE_DELAY_MS", "150"}, {"TURNPIKE_DURATION_MS", "150"}}})
          .trace();
  const Seen seen = seen_of(trace);
  EXPECT_GT(seen.first, 1u);
  EXPECT_LT(seen.last, 300u);
  EXPECT_EQ(seen.count, seen.last - seen.first + 1) << "no hole";
}

}  // namespace
}  // namespace turnpike::record_tests
