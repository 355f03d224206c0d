// Recordings that keep only the last of a program.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

namespace fs = std::filesystem;
using trace::Loss;

constexpr std::int64_t kMs = 1'000'000;

Variables last(int ms, Variables more = {}) {
  more.insert({{"TURNPIKE_LAST_MS", std::to_string(ms)}, {"TURNPIKE_DETAIL", "full"}});
  return more;
}

std::vector<fs::path> segments_in(const fs::path& run) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (entry.path().extension() == ".tps") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t bytes_in(const fs::path& run) {
  std::uint64_t bytes = 0;
  std::error_code gone;  // a segment may be deleted meanwhile
  for (const auto& entry : fs::directory_iterator(run, gone)) {
    const auto size = fs::file_size(entry.path(), gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// The sizes of the uploads count from 1, so that what is there and what is not is known by them.
std::vector<std::uint64_t> uploads_of(const Trace& trace) {
  std::vector<std::uint64_t> sizes;
  for (const auto& call : trace.calls_named("cudaMemcpyAsync")) sizes.push_back(call.bytes);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

void expect_consistent(const Trace& trace) {
  for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kUndefinedReference,
                          Loss::kMissingSegment, Loss::kWriteFailed}) {
    EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
  }
  for (const auto& copy : trace.copies) EXPECT_NE(trace.call_of(copy.correlation), nullptr) << copy.bytes;
}

// From some upload on all of them, and none before it.
void expect_last_of(const Trace& trace, std::uint64_t count) {
  const auto sizes = uploads_of(trace);
  ASSERT_FALSE(sizes.empty());
  EXPECT_EQ(sizes.back(), count);
  EXPECT_EQ(sizes.size(), sizes.back() - sizes.front() + 1);
  EXPECT_GT(sizes.front(), 1u) << "the first are gone";
  std::set<std::uint64_t> copied;
  for (const auto& copy : trace.copies) copied.insert(copy.bytes);
  EXPECT_EQ(copied, std::set<std::uint64_t>(sizes.begin(), sizes.end()));
}

TEST(Flight, KeepsTheLastOfAProgram) {
  const VictimRun run({"paced", "600", "2"}, {.variables = last(400)});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const Trace trace = run.trace();
  expect_consistent(trace);
  expect_last_of(trace, 600);
  ASSERT_TRUE(trace.process.end);
  const std::int64_t kept_ns = trace.process.end->end_realtime_ns - trace.process.kept_since_ns;
  EXPECT_GE(kept_ns, 350 * kMs);
  EXPECT_LT(kept_ns, 700 * kMs) << "an eighth more, and the turns of a busy machine";
  EXPECT_GT(trace.process.end->end_realtime_ns - trace.process.start_realtime_ns, 1200 * kMs);
  EXPECT_FALSE(trace.devices.empty()) << "what was said once at the start holds for the window";
  EXPECT_FALSE(trace.threads.empty());
  EXPECT_GT(trace.process.clock_samples.size(), 0u);
  EXPECT_EQ(trace.metadata("last_ms"), "400");
  EXPECT_TRUE(trace.metadata("cpu").starts_with("cores=")) << trace.metadata("cpu");
}

// The same program, once with everything kept: cut to the window, it says the same.
TEST(Flight, HoldsWhatARecordingOfEverythingHoldsThere) {
  const Trace all = VictimRun({"paced", "300", "2"}, {.variables = {{"TURNPIKE_DETAIL", "full"}}}).trace();
  const Trace window = VictimRun({"paced", "300", "2"}, {.variables = last(200)}).trace();
  const auto sizes = uploads_of(window);
  ASSERT_GT(sizes.size(), 20u);
  ASSERT_GT(sizes.front(), 1u);
  const auto call_of_size = [](const Trace& trace, std::uint64_t bytes) {
    const auto calls = trace.calls_named("cudaMemcpyAsync");
    return *std::find_if(calls.begin(), calls.end(), [&](const auto& call) { return call.bytes == bytes; });
  };
  for (const std::uint64_t size : sizes) {
    const auto in_all = call_of_size(all, size);
    const auto in_window = call_of_size(window, size);
    EXPECT_EQ(in_all.kind, in_window.kind);
    EXPECT_EQ(in_all.stream, in_window.stream);
    EXPECT_EQ(in_all.result, in_window.result);
    const auto frames_of = [](const Trace& trace, const trace::CallRecord& call) {
      std::vector<std::string> names;
      const auto stack = trace.process.stacks.find(call.stack);
      if (!stack) return names;
      for (const auto frame : stack->frames) names.push_back(trace.process.frames.at(frame).function);
      return names;
    };
    EXPECT_EQ(frames_of(all, in_all), frames_of(window, in_window));
    ASSERT_EQ(window.copies_of(size).size(), 1u);
    EXPECT_EQ(all.copies_of(size)[0].copy_kind, window.copies_of(size)[0].copy_kind);
    EXPECT_EQ(all.copies_of(size)[0].src_kind, window.copies_of(size)[0].src_kind);
  }
  EXPECT_EQ(window.losses(), all.losses());
  EXPECT_EQ(window.devices.size(), all.devices.size());
  EXPECT_EQ(window.threads.size(), all.threads.size());
}

TEST(Flight, KeepsAllOfAShortProgram) {
  const VictimRun run({"paced", "50", "2"}, {.variables = last(60'000)});
  const Trace trace = run.trace();
  expect_consistent(trace);
  EXPECT_EQ(uploads_of(trace).size(), 50u);
  EXPECT_EQ(trace.losses(), "");
}

// The ring, and with it the names of ranges, of which the program makes new ones all the time.
TEST(Flight, NeedsNoMoreOfTheDiskTheLongerItRuns) {
  std::vector<std::uint64_t> sizes;
  const auto watch = [&](const fs::path& folder) {
    for (int look = 0; look < 30; ++look) {
      usleep(100'000);
      if (fs::exists(folder)) sizes.push_back(bytes_in(folder));
    }
  };
  const ScratchFolder folder;
  const auto run_path = folder.path() / "run.tpk";
  const VictimRun run({"paced", "1400", "2"}, {.variables = last(200, {{TURNPIKE_ENV_RUN, run_path.string()}}),
                                               .meanwhile = [&](pid_t) { watch(run_path); }});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  ASSERT_GT(sizes.size(), 20u);
  // The first second fills the ring; after it there is no trend.
  const auto early = *std::max_element(sizes.begin() + 5, sizes.begin() + 12);
  const auto late = *std::max_element(sizes.end() - 10, sizes.end());
  EXPECT_LT(late, early + early / 2) << early << " then " << late;
  EXPECT_LE(segments_in(run_path).size(), 11u);
}

TEST(Flight, StaysWithinTheLargestSize) {
  const char* const count = is_sanitized() ? "150000" : "400000";
  const char* const most_bytes = is_sanitized() ? "4500000" : "12000000";
  const VictimRun run({"many", count},
                      {.variables = last(60'000, {{"TURNPIKE_MAX_BYTES", most_bytes}, {"FAKE_CUDA_WORK_NS", "100"}})});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  // A turn may write 4 MiB and more before it is looked at.
  EXPECT_LT(bytes_in(run.run_directory()), 40'000'000u);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.loss(Loss::kStoppedAtSize), 0u);
  EXPECT_EQ(trace.loss(Loss::kMissingSegment), 0u);
  EXPECT_GT(segments_in(run.run_directory()).front().string(), (run.run_directory() / "0").string());
}

class FlightEnds : public testing::TestWithParam<const char*> {};
TEST_P(FlightEnds, KeepWhatThereIs) {
  const VictimRun run({"exit_by", GetParam()}, {.variables = last(60'000)});
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.process.end.has_value());
  EXPECT_EQ(uploads_of(trace).size(), 50u);
  for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kUndefinedReference,
                          Loss::kMissingSegment}) {
    EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
  }
}
INSTANTIATE_TEST_SUITE_P(Ways, FlightEnds, testing::Values("return", "_exit", "segv", "sigkill", "abort", "exec"));

TEST(Flight, IsReadableAfterAKillWithNobodyLeft) {
  const VictimRun run({"paced", "100000", "1"},
                      {.is_settled = false, .variables = last(300), .meanwhile = [](pid_t child) {
                         usleep(1'200'000);
                         kill(child, SIGKILL);
                       }});
  EXPECT_EQ(run.outcome().signal, SIGKILL);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.loss(Loss::kNotClosed), 1u);
  EXPECT_EQ(trace.loss(Loss::kMissingSegment) + trace.loss(Loss::kDamagedBytes), 0u) << trace.losses();
  const auto sizes = uploads_of(trace);
  ASSERT_GT(sizes.size(), 50u);
  EXPECT_EQ(sizes.size(), sizes.back() - sizes.front() + 1);
}

TEST(Flight, LosesNoCallOfTheWindowByAKill) {
  const VictimRun run({"paced", "100000", "1"}, {.variables = last(300), .meanwhile = [](pid_t child) {
                                                   usleep(1'200'000);
                                                   kill(child, SIGKILL);
                                                 }});
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.process.end.has_value());
  EXPECT_EQ(trace.loss(Loss::kEndedEarly), 1u);
  for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kMissingSegment}) {
    EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
  }
  const auto sizes = uploads_of(trace);
  ASSERT_FALSE(sizes.empty());
  EXPECT_EQ(sizes.size(), sizes.back() - sizes.front() + 1);
}

TEST(Flight, SaysWhichSegmentsAreMissingAndReadsTheRest) {
  const VictimRun cut({"paced", "400", "2"}, {.variables = last(300)});
  const auto segments = segments_in(cut.run_directory());
  ASSERT_GE(segments.size(), 4u);
  fs::remove(segments[2]);
  std::ofstream(segments[1], std::ios::trunc) << "no trace";
  const Trace trace = cut.trace();
  EXPECT_EQ(trace.loss(Loss::kMissingSegment), 2u) << trace.losses();
  EXPECT_FALSE(uploads_of(trace).empty());
  for (const auto& segment : segments) fs::remove(segment);
  EXPECT_EQ(cut.trace().loss(Loss::kMissingSegment), 1u);
  EXPECT_TRUE(uploads_of(cut.trace()).empty());
}

fs::path only_kept(const VictimRun& run) {
  return run.run_directory().parent_path() / "run-1.tpk";
}

TEST(Flight, IsKeptOnASignalAndGoesOn) {
  Trace kept;
  const VictimRun run({"paced", "700", "2"}, {.variables = last(400), .meanwhile = [](pid_t child) {
                                                usleep(700'000);
                                                kill(child, SIGUSR2);
                                              }});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "paced 700\n");
  const auto files = trace::run_files(only_kept(run));
  ASSERT_TRUE(files) << files.error().message;
  kept = read_trace(files->at(0));
  expect_consistent(kept);
  EXPECT_EQ(kept.metadata("kept_because"), "a signal asked for it");
  const auto in_kept = uploads_of(kept);
  const auto at_end = uploads_of(run.trace());
  ASSERT_FALSE(in_kept.empty());
  EXPECT_EQ(in_kept.size(), in_kept.back() - in_kept.front() + 1);
  EXPECT_LT(in_kept.back(), 600u);
  EXPECT_EQ(at_end.back(), 700u);
  EXPECT_GT(at_end.front(), in_kept.front());
  EXPECT_EQ(run.trace().metadata("kept_because"), "");
  EXPECT_EQ(run.status().keep_number, 1u);
}

TEST(Flight, LeavesASignalToAProgramThatIgnoresOrTakesIt) {
  signal(SIGUSR2, SIG_IGN);  // the victim inherits that
  const VictimRun run({"paced", "200", "2"}, {.variables = last(400), .meanwhile = [](pid_t child) {
                                                usleep(200'000);
                                                kill(child, SIGUSR2);
                                              }});
  signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(run.outcome().exit_code, 0);
  EXPECT_FALSE(fs::exists(only_kept(run)));
  EXPECT_NE(run.outcome().err.find("uses SIGUSR2 itself"), std::string::npos) << run.outcome().err;
}

TEST(Flight, TakesNoSignalWhenToldSo) {
  const VictimRun run({"paced", "100000", "2"},
                      {.variables = last(400, {{"TURNPIKE_SIGNAL", "off"}}), .meanwhile = [](pid_t child) {
                         usleep(300'000);
                         kill(child, SIGUSR2);
                       }});
  EXPECT_EQ(run.outcome().signal, SIGUSR2) << "as without a recorder";
}

TEST(Flight, IsKeptAfterASlowStep) {
  // 60 steps of 5 ms; the 41st and the 51st take 80.
  const VictimRun run({"steps", "60", "5", "40", "80"},
                      {.variables = last(60'000, {{"TURNPIKE_TRIGGER", "step > 3 x median"}})});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const auto files = trace::run_files(only_kept(run));
  ASSERT_TRUE(files) << files.error().message;
  const Trace kept = read_trace(files->at(0));
  expect_consistent(kept);
  EXPECT_TRUE(kept.metadata("cpu").starts_with("cores=")) << kept.metadata("cpu");
  const std::string why = kept.metadata("kept_because");
  EXPECT_NE(why.find("a step (train_step) took "), std::string::npos) << why;
  EXPECT_NE(why.find("step > 3 x median"), std::string::npos) << why;
  EXPECT_FALSE(fs::exists(run.run_directory().parent_path() / "run-2.tpk")) << "the same window is not kept twice";
  EXPECT_EQ(run.status().trigger_count, 1u);
}

TEST(Flight, IsKeptAtMostSoManyTimes) {
  const VictimRun run({"steps", "120", "5", "20", "60"},
                      {.variables = last(100, {{"TURNPIKE_TRIGGER", "step > 40 ms"}, {"TURNPIKE_KEEP", "2"}})});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.status().trigger_count, 2u);
  EXPECT_TRUE(fs::exists(run.run_directory().parent_path() / "run-2.tpk"));
  EXPECT_FALSE(fs::exists(run.run_directory().parent_path() / "run-3.tpk"));
}

TEST(Flight, IsNotKeptWithoutASlowStep) {
  const VictimRun run({"steps", "60", "5", "1000", "0"},
                      {.variables = last(60'000, {{"TURNPIKE_TRIGGER", "step > 1 s"}})});
  EXPECT_FALSE(fs::exists(only_kept(run)));
}

TEST(Flight, IsKeptWhenTheProgramSaysSo) {
  const VictimRun run({"keeps", record_library(), "loss is nan"}, {.variables = last(60'000)});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err << run.outcome().out;
  const auto files = trace::run_files(only_kept(run));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(read_trace(files->at(0)).metadata("kept_because"), "the program asked for it: loss is nan");
}

TEST(Flight, TellsAProgramThatItKeepsEverythingAnyway) {
  const VictimRun run({"keeps", record_library(), "x"});
  EXPECT_EQ(run.outcome().exit_code, 3);
  EXPECT_NE(run.outcome().out.find("--last SECONDS"), std::string::npos) << run.outcome().out;
}

// One process is asked, and both keep, into one run.
TEST(Flight, IsKeptByAllProcessesOfARun) {
  const VictimRun run({"fork_before", "return"}, {.variables = last(60'000)});
  EXPECT_EQ(run.files().size(), 2u);
  for (const Trace& trace : run.traces()) expect_consistent(trace);
  const VictimRun kept({"two_keep"}, {.variables = last(60'000)});
  ASSERT_EQ(kept.outcome().exit_code, 0) << kept.outcome().err;
  const auto files = trace::run_files(only_kept(kept));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), 2u);
}

TEST(Flight, KeepsNothingHalfOnAFullDisk) {
  const VictimRun nowhere({"paced", "100", "2"},
                          {.variables = last(400), .file_limit_bytes = 30'000, .meanwhile = [](pid_t child) {
                             usleep(150'000);
                             kill(child, SIGUSR2);
                           }});
  EXPECT_EQ(nowhere.outcome().exit_code, 0) << nowhere.outcome().err;
  EXPECT_EQ(nowhere.outcome().out, "paced 100\n");
  for (const auto& file : nowhere.files()) read_trace(file);
}

}  // namespace
}  // namespace turnpike::record_tests
