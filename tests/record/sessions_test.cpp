// turnpike_start and turnpike_stop: recording parts of a process, more than once.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

// Not injected: the program loads the library itself.
Setting by_hand() {
  return {.variables = {{"CUDA_INJECTION64_PATH", ""}, {"NVTX_INJECTION64_PATH", ""}, {TURNPIKE_ENV_RUN, ""}}};
}

std::string only_trace_path(const std::filesystem::path& run) {
  const auto files = trace::run_files(run);
  EXPECT_TRUE(files && files->size() == 1) << run;
  return files->at(0);
}
Trace only_trace(const std::filesystem::path& run) {
  return read_trace(only_trace_path(run));
}

TEST(Sessions, EachHoldsItsOwnPart) {
  const ScratchFolder folder;
  const auto first_run = folder.path() / "a.tpk";
  const auto second_run = folder.path() / "b.tpk";
  const VictimRun run({"sessions", record_library(), first_run, second_run}, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const Trace first = only_trace(first_run);
  const Trace second = only_trace(second_run);
  EXPECT_EQ(first.copies_of(5001).size(), 5u);
  ASSERT_EQ(first.migrations.size(), 1u);
  EXPECT_EQ(first.migrations[0].bytes, 1000u);
  ASSERT_EQ(second.migrations.size(), 1u) << "of managed memory from the session before, but not between the two";
  EXPECT_EQ(second.migrations[0].bytes, 1001u);
  EXPECT_EQ(first.copies.size(), 5u);
  EXPECT_EQ(second.copies_of(5003).size(), 4u);
  EXPECT_EQ(second.copies.size(), 4u);
  EXPECT_EQ(first.calls_named("cudaMemcpyAsync").size(), 5u);
  EXPECT_EQ(second.calls_named("cudaMemcpyAsync").size(), 4u);
  EXPECT_EQ(first.losses() + second.losses(), "");
  EXPECT_NE(run.outcome().out.find(first_run.string()), std::string::npos);
}

// What tells a program that moved nothing from one that used no GPU.
TEST(Sessions, InWhichNothingMovesNameTheDevices) {
  const ScratchFolder folder;
  const auto path = folder.path() / "a.tpk";
  const VictimRun run({"sessions_and_profiles", record_library(), PROFILER, ".[].", path}, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const Trace trace = only_trace(path);
  EXPECT_EQ(trace.calls.size() + trace.copies.size(), 0u);
  EXPECT_EQ(trace.devices.size(), 2u);
}

TEST(Sessions, NoteNoRangesBetweenThem) {
  const ScratchFolder folder;
  const auto second_run = folder.path() / "b.tpk";
  const VictimRun run({"ranges_after_stop", record_library(), second_run});
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const Trace second = only_trace(second_run);
  ASSERT_EQ(second.ranges.size(), 1u);
  EXPECT_EQ(second.process.string(second.ranges[0].name), "whole");
  for (const auto& [id, text] : second.process.strings) {
    EXPECT_NE(text, "after the stop") << "nothing is noted while nothing is recorded";
    EXPECT_NE(text, "inside of it");
  }
}

// Kinds first, then what they have delivered, then the calls. The subscription stays: to end it amid calls of other
// threads crashes.
TEST(Sessions, LeaveNothingOnBehindThem) {
  const ScratchFolder folder;
  const VictimRun run({"sessions", record_library(), folder.path() / "a.tpk", folder.path() / "b.tpk"}, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const auto truth = run.truth();
  EXPECT_EQ(truth.at("produced"), 5u + 1 + 4 + 1) << "of the two sessions, and not between or behind them";
  EXPECT_EQ(truth.at("kinds_left"), 0u);
  EXPECT_EQ(truth.at("buffers_left"), 0u);
  EXPECT_EQ(truth.at("kinds_on"), 0u);
  EXPECT_EQ(truth.at("calls_on"), 0u);
  EXPECT_EQ(truth.at("unsubscribes"), 0u);
}

TEST(Sessions, AmidCopiesLeaveNothingOnEither) {
  const ScratchFolder folder;
  std::vector<std::string> arguments{"sessions_amid", record_library()};
  for (int number = 0; number < 4; ++number) arguments.push_back(folder.path() / (std::to_string(number) + ".tpk"));
  const VictimRun run(arguments, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const auto truth = run.truth();
  EXPECT_EQ(truth.at("kinds_left"), 0u);
  EXPECT_EQ(truth.at("kinds_on"), 0u);
  EXPECT_EQ(truth.at("calls_on"), 0u);
  EXPECT_EQ(truth.at("unsubscribes"), 0u);
}

// The second session of the program asks for it, the first does not.
TEST(Sessions, VerifyContentWhereItIsAskedFor) {
  const ScratchFolder folder;
  const VictimRun run({"sessions", record_library(), folder.path() / "a.tpk", folder.path() / "b.tpk"}, by_hand());
  const Trace sampled = only_trace(folder.path() / "a.tpk");
  const Trace verified = only_trace(folder.path() / "b.tpk");
  ASSERT_EQ(sampled.contents.size(), 5u);
  EXPECT_LT(sampled.contents[0].hashed_bytes, 5001u);
  ASSERT_EQ(verified.contents.size(), 4u);
  EXPECT_EQ(verified.contents[0].hashed_bytes, 5003u);
}

// Looking at it could make its pages move to the host.
TEST(Sessions, LookAtNoManagedMemoryOfTheTimeBeforeThem) {
  const ScratchFolder folder;
  const VictimRun run({"managed_before", record_library(), folder.path() / "a.tpk"}, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const Trace trace = only_trace(folder.path() / "a.tpk");
  ASSERT_EQ(trace.contents.size(), 1u);
  EXPECT_EQ(trace.contents[0].bytes, 3011u);
}

// What the device does for a call that nobody has heard is not of the recording.
TEST(Sessions, AmidCopiesHaveACallForEachCopyAndACopyForEachCall) {
  const ScratchFolder folder;
  std::vector<std::string> arguments{"sessions_amid", record_library()};
  for (int number = 0; number < 8; ++number) arguments.push_back(folder.path() / (std::to_string(number) + ".tpk"));
  const VictimRun run(arguments, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  std::size_t unmatched = 0;
  for (std::size_t at = 2; at < arguments.size(); ++at) {
    const Trace trace = only_trace(arguments[at]);
    std::set<std::uint32_t> called, copied;
    // Where the recording begins inside of a call of the runtime, the driver's call within is the one.
    for (const auto& call : trace.calls) called.insert(call.correlation);
    for (const auto& copy : trace.copies_of(6000)) copied.insert(copy.correlation);
    EXPECT_EQ(trace.losses(), "");
    EXPECT_GT(copied.size(), 10u);
    EXPECT_TRUE(std::includes(copied.begin(), copied.end(), called.begin(), called.end())) << arguments[at];
    for (const std::uint32_t correlation : copied) unmatched += !called.contains(correlation);
  }
  EXPECT_EQ(unmatched, 0u);
}

TEST(Sessions, TwoInOneDirectoryAreTwoFiles) {
  const ScratchFolder folder;
  const auto path = folder.path() / "a.tpk";
  const VictimRun run({"sessions", record_library(), path, path}, by_hand());
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const auto files = trace::run_files(path);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(read_trace(files->at(0)).copies.size() + read_trace(files->at(1)).copies.size(), 9u);
}

TEST(Sessions, DefinitionsOfStacksAreInEachFile) {
  const ScratchFolder folder;
  const VictimRun run({"sessions", record_library(), folder.path() / "a.tpk", folder.path() / "b.tpk"}, by_hand());
  const Trace second = only_trace(folder.path() / "b.tpk");
  for (const auto& call : second.calls_named("cudaMemcpyAsync")) {
    ASSERT_TRUE(second.process.stacks.contains(call.stack));
    for (const std::uint32_t frame : second.process.stacks.at(call.stack).frames) {
      EXPECT_TRUE(second.process.frames.contains(frame));
    }
  }
  EXPECT_EQ(second.loss(trace::Loss::kUndefinedReference), 0u);
}

TEST(Sessions, RefusalsSayWhyAndHarmNothing) {
  const VictimRun run({"bad_session", record_library()}, by_hand());
  EXPECT_EQ(run.outcome().exit_code, 0);
  EXPECT_NE(run.outcome().out.find("stop first: -1 nothing is being recorded"), std::string::npos) << run.outcome().out;
  EXPECT_NE(run.outcome().out.find("file: ''"), std::string::npos);
  EXPECT_NE(run.outcome().out.find("bad directory: -1 "), std::string::npos);
  EXPECT_NE(run.outcome().out.find("/proc/nowhere/run"), std::string::npos);
  EXPECT_NE(run.outcome().out.find("recording: 0"), std::string::npos);
}

// A second recording beside one whose thread hangs in a write would share its memory.
TEST(Sessions, WaitForTheFileOfTheOneBefore) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime must be loaded first";
  const ScratchFolder folder;
  const auto first_run = folder.path() / "a.tpk";
  const auto second_run = folder.path() / "b.tpk";
  const auto hangs_while = folder.path() / "disk hangs";
  Setting setting = by_hand();
  setting.variables["LD_PRELOAD"] = fake_libraries() + "/libfakedisk.so";
  setting.variables["FAKE_DISK_HANGS_WHILE"] = hangs_while;
  const VictimRun run({"hung_stop", record_library(), first_run, second_run, hangs_while}, setting);
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
  const std::string file = only_trace_path(first_run);
  EXPECT_EQ(run.outcome().out, "start 0 \nrecording 1\nstop -1 the recording is still being written to " + file +
                                   ": its disk, or the GPU, does not answer. Nothing more is recorded\nrecording 0\n"
                                   "start -1 the last recording is still being written to " +
                                   file + "\nstop 0 \nstart 0 \nstop 0 \n");
  EXPECT_EQ(only_trace(first_run).copies_of(5001).size(), 5u);
  EXPECT_EQ(only_trace(second_run).copies_of(5003).size(), 3u);
  EXPECT_EQ(only_trace(first_run).losses() + only_trace(second_run).losses(), "");
}

TEST(Sessions, EndWithTheProcess) {
  const ScratchFolder folder;
  const VictimRun run({"session_at_exit", record_library(), folder.path() / "a.tpk"}, by_hand());
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "recording at exit: 0\nstop at exit: -1 nothing is being recorded in this process\n");
  const Trace trace = only_trace(folder.path() / "a.tpk");
  EXPECT_EQ(trace.copies_of(5001).size(), 5u);
  EXPECT_EQ(trace.losses(), "");
  EXPECT_TRUE(trace.process.end);
}

TEST(Sessions, StartInAnInjectedProcessIsRefused) {
  const ScratchFolder folder;
  const VictimRun run({"sessions", record_library(), folder.path() / "a.tpk", folder.path() / "b.tpk"});
  EXPECT_EQ(run.outcome().exit_code, 1);
  EXPECT_NE(run.outcome().out.find("being recorded already"), std::string::npos) << run.outcome().out;
  EXPECT_EQ(run.trace().copies_of(5000).size(), 2u);
}

}  // namespace
}  // namespace turnpike::record_tests
