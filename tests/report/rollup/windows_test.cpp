// A recording that is rolled up window by window has the roll-up that it has as a whole.
#include "report/rollup/windows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "analyze/model/timeline.h"
#include "analyze/process_builder.h"
#include "report/rollup/rollup.h"
#include "trace/make_record.h"
#include "trace/reader.h"

namespace turnpike::report::rollup {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMs = 1'000'000;

fs::path trace_of(const std::string& run) {
  return trace::run_files(fs::path(TURNPIKE_ROOT) / run).value().front();
}

// Hands on the records of a recording as if it went on: later, and with numbers that follow.
class Later final : public trace::RecordSink {
 public:
  Later(trace::RecordSink& sink, int times, std::int64_t length_ns)
      : sink_(sink), times_(times), later_ns_(times * length_ns) {}

  void on(const trace::CallRecord& record) override {
    trace::CallRecord later = record;
    if (later.autograd_sequence > 0) later.autograd_sequence += static_cast<std::uint64_t>(times_) * 1'000'000;
    pass_device_work(later);
  }
  void on(const trace::MemcpyRecord& record) override { pass_device_work(record); }
  void on(const trace::MemsetRecord& record) override { pass_device_work(record); }
  void on(const trace::KernelRecord& record) override { pass_device_work(record); }
  void on(const trace::RangeRecord& record) override { pass(record); }
  void on(const trace::MigrationRecord& record) override { pass(record); }
  void on(const trace::DeviceRecord& record) override { pass_once(record); }
  void on(const trace::ThreadRecord& record) override { pass_once(record); }
  void on(const trace::StreamRecord& record) override { pass_once(record); }
  void on(const trace::GraphNodeRecord& record) override { pass_once(record); }

 private:
  template <typename Record>
  void pass(Record record) {
    record.start_ns += later_ns_;
    record.end_ns += later_ns_;
    sink_.on(record);
  }
  template <typename Record>
  void pass_device_work(Record record) {
    record.correlation += static_cast<std::uint32_t>(times_) * 10'000'000;
    pass(record);
  }
  template <typename Record>
  void pass_once(const Record& record) {
    if (times_ == 0) sink_.on(record);
  }

  trace::RecordSink& sink_;
  int times_;
  std::int64_t later_ns_;
};

// How often a recording is repeated. Under a sanitizer that makes the test take a minute, and what a sanitizer looks
// for shows at a few edges of windows, too.
int times_of(std::uint64_t record_count) {
#if defined(__SANITIZE_ADDRESS__)
  return static_cast<int>(2 + 15'000 / record_count);
#else
  (void)record_count;
  return 12;
#endif
}

// A recording as if its program had gone on doing the same.
class LongRecording {
 public:
  explicit LongRecording(const std::string& run) : file_(trace_of(run)) {
    analyze::TimelineLoader loader;
    process_ = trace::read_file(file_, loader).value();
    const analyze::Timeline timeline = loader.take();
    const auto span = timeline.span;
    length_ns_ = span->end_ns - span->start_ns + kMs;
    times_ = times_of(timeline.calls.size() + timeline.kernels.size());
  }
  const trace::Process& process() const { return process_; }
  void read(trace::RecordSink& sink) const {
    for (int i = 0; i < times_; ++i) {
      Later later(sink, i, length_ns_);
      EXPECT_TRUE(trace::read_file(file_, later));
    }
  }

 private:
  fs::path file_;
  trace::Process process_;
  std::int64_t length_ns_ = 0;
  int times_ = 0;
};

class OfRecording : public ::testing::TestWithParam<const char*> {};

TEST_P(OfRecording, WindowsMakeTheSameRollUp) {
  const LongRecording recording(GetParam());
  analyze::TimelineLoader loader;
  recording.read(loader);
  const std::string as_a_whole = rollup_of({recording.process(), loader.take()}, "run");

  const WindowLimits limits{.records = 2500, .margin_ns = 100 * kMs};
  Survey survey(limits.records);
  recording.read(survey);
  ASSERT_FALSE(survey.is_whole());
  Windows windows(recording.process(), survey.margin_ns(recording.process(), limits), limits);
  recording.read(windows);
  EXPECT_TRUE(windows.finish("run") == as_a_whole);
  EXPECT_GE(windows.count(), 3);
}

// Not examples/mnist-h100.tpk: memsets of one place are spread otherwise over rows that have the same columns. In sum
// they are the same; docs/rollup.md says so.
INSTANTIATE_TEST_SUITE_P(Windows, OfRecording,
                         ::testing::Values("examples/train-before-h100.tpk", "examples/train-after-h100.tpk",
                                           "tests/golden/field/hf_trainer.tpk", "tests/golden/field/lightning_fit.tpk",
                                           "tests/golden/field/checkpoint.tpk", "tests/golden/whatif/d2h_outputs.tpk",
                                           "tests/golden/whatif/item_each_step.tpk",
                                           "tests/golden/field/offloaded_weights.tpk"));

TEST(Windows, AShortRecordingIsKeptBySurvey) {
  const fs::path file = trace_of("examples/mnist-h100.tpk");
  Survey survey(WindowLimits{}.records);
  auto process = trace::read_file(file, survey);
  ASSERT_TRUE(survey.is_whole());
  analyze::TimelineLoader loader;
  trace::Process same = trace::read_file(file, loader).value();
  EXPECT_TRUE(rollup_of({std::move(*process), survey.take_timeline()}, "run") ==
              rollup_of({std::move(same), loader.take()}, "run"));
}

// Rounds of eight uploads of 10 ms, each followed by a launch, and one more launch at the end of each round.
class Rounds {
 public:
  explicit Rounds(std::uint32_t uploads) : uploads_(uploads) {}

  const trace::Process& process() { return builder_.process(); }
  void read(trace::RecordSink& sink) const {
    for (std::uint32_t i = 0; i < uploads_; ++i) {
      auto call = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
      call.kind = trace::CallKind::kCopy;
      call.start_ns = i * 10 * kMs;
      call.end_ns = call.start_ns + kMs;
      call.correlation = i + 1;
      call.stack = stack_;
      call.src = 0x1000 + i % kPieces * 0x100;
      call.bytes = 0x100;
      sink.on(call);
      auto copy = trace::make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
      copy.start_ns = call.start_ns;
      copy.end_ns = call.end_ns;
      copy.correlation = call.correlation;
      copy.bytes = call.bytes;
      copy.copy_kind = trace::CopyKind::kHostToDevice;
      sink.on(copy);
      launch(sink, call.start_ns + 2 * kMs);
      if (i % kPieces == kPieces - 1) launch(sink, call.start_ns + 4 * kMs);
    }
  }

 private:
  static constexpr std::uint32_t kPieces = 8;

  static void launch(trace::RecordSink& sink, std::int64_t start_ns) {
    auto call = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
    call.kind = trace::CallKind::kLaunch;
    call.start_ns = start_ns;
    call.end_ns = start_ns + kMs;
    sink.on(call);
  }

  analyze::ProcessBuilder builder_{"transfers"};
  std::uint32_t stack_ = builder_.line("/home/user/infer.py", 12);
  std::uint32_t uploads_;
};

TEST(Windows, ShorterThanARoundOfUploadsHaveTheStepsOfTheOnesBefore) {
  const WindowLimits limits{.records = 100, .margin_ns = 5 * kMs};
  for (std::uint32_t uploads = 48; uploads < 72; ++uploads) {  // the last window is as short as an upload at times
    Rounds rounds(uploads);
    analyze::TimelineLoader loader;
    rounds.read(loader);
    const std::string as_a_whole = rollup_of({rounds.process(), loader.take()}, "run");
    Windows windows(rounds.process(), limits.margin_ns, limits);
    rounds.read(windows);
    EXPECT_TRUE(windows.finish("run") == as_a_whole) << uploads << " uploads";
    EXPECT_GT(windows.count(), 1);
  }
}

trace::CallRecord call_at(std::int64_t start_ns) {
  auto record = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
  record.start_ns = start_ns;
  record.end_ns = start_ns + 1;
  return record;
}

trace::RangeRecord range_at(std::uint32_t name, std::int64_t start_ns, std::int64_t end_ns) {
  auto record = trace::make_record<trace::RangeRecord>(trace::RecordKind::kRange);
  record.name = name;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  return record;
}

TEST(Windows, TheMarginIsAsLongAsRecordsAreLate) {
  const WindowLimits limits{.records = 10, .margin_ns = 5};
  trace::Process process;
  process.strings = {{1, "train_step"}, {2, "all of it"}};
  Survey survey(limits.records);
  survey.on(call_at(100));
  EXPECT_EQ(survey.margin_ns(process, limits), 5);
  survey.on(call_at(80));
  EXPECT_EQ(survey.margin_ns(process, limits), 20);
  survey.on(range_at(1, 70, 100));
  EXPECT_EQ(survey.margin_ns(process, limits), 30);
  // Only steps are waited for.
  survey.on(range_at(2, 0, 100));
  EXPECT_EQ(survey.margin_ns(process, limits), 30);
}

}  // namespace
}  // namespace turnpike::report::rollup
