// Whatever fails around the recorder: the program's output and exit code stay, and the trace says what is missing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

const Outcome& plain_outcome() {
  static const Outcome kOutcome = VictimRun({"uploads", "200"}, {.is_recorded = false}).outcome();
  return kOutcome;
}

// What a user of the program sees must be the same; the recorder may add lines of its own to stderr.
void expect_unharmed(const VictimRun& run) {
  EXPECT_EQ(run.outcome().exit_code, plain_outcome().exit_code);
  EXPECT_EQ(run.outcome().signal, 0);
  EXPECT_EQ(run.outcome().out, plain_outcome().out);
  EXPECT_NE(run.outcome().err.find("uploaded\n"), std::string::npos);
}

VictimRun run_with(Variables variables) {
  return VictimRun({"uploads", "200"}, {.variables = std::move(variables)});
}

TEST(Harmless, NothingIsPrintedWhenAllIsWell) {
  const VictimRun run = run_with({});
  expect_unharmed(run);
  EXPECT_EQ(run.outcome().err, plain_outcome().err);
}

// Without these there is nothing to record: the file says why.
class Indispensable : public testing::TestWithParam<const char*> {};
TEST_P(Indispensable, FailureLeavesTheReasonInTheTrace) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", GetParam()}});
  expect_unharmed(run);
  const Trace trace = run.trace();
  EXPECT_NE(trace.metadata("unusable"), "") << trace.losses();
  EXPECT_EQ(run.status().unusable_count, 1u);
  EXPECT_EQ(run.status().process_count, 0u);
  EXPECT_TRUE(trace.copies.empty());
  EXPECT_GT(trace.loss(Loss::kCuptiCallFailed) + trace.loss(Loss::kOtherCuptiUser), 0u);
  EXPECT_TRUE(trace.process.end.has_value());
}
INSTANTIATE_TEST_SUITE_P(Cupti, Indispensable,
                         testing::Values("cuptiSubscribe:39", "cuptiSubscribe:35", "cuptiSubscribe:999",
                                         "cuptiActivityRegisterCallbacks:15", "cuptiActivityEnable:35",
                                         "cuptiActivityEnable=1:21"));

// Without these something is missing, and a loss says so.
class Dispensable : public testing::TestWithParam<const char*> {};
TEST_P(Dispensable, FailureIsCountedAndTheRestIsRecorded) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", GetParam()}});
  expect_unharmed(run);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.metadata("unusable"), "");
  EXPECT_GT(trace.loss(Loss::kCuptiCallFailed), 0u) << trace.losses();
}
INSTANTIATE_TEST_SUITE_P(Cupti, Dispensable,
                         testing::Values("cuptiEnableCallback:1", "cuptiEnableCallback=13:1",
                                         "cuptiActivityEnable=10:21", "cuptiActivityEnable=22:21",
                                         "cuptiActivityEnable=2:21", "cuptiActivityFlushAll:999",
                                         "cuptiGetCallbackName:1", "cuptiActivityGetNumDroppedRecords:15"));

// Without these nothing that a user asked for is missing.
class Marginal : public testing::TestWithParam<const char*> {};
TEST_P(Marginal, FailureLosesNoCopy) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", GetParam()}});
  expect_unharmed(run);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies.size(), 201u) << trace.losses();
}
INSTANTIATE_TEST_SUITE_P(Cupti, Marginal,
                         testing::Values("cuptiGetVersion:999", "cuptiGetResultString:1", "cuptiGetTimestamp:15",
                                         "cuptiActivitySetAttribute:1", "cuptiSetThreadIdType:1",
                                         "cuptiGetStreamIdEx:20", "cuptiGetContextId:3", "cuptiGetDeviceId:3",
                                         "cuptiActivityConfigureUnifiedMemoryCounter:27", "cuptiActivityDisable:21",
                                         "cuptiUnsubscribe:1", "cuptiActivityGetNumDroppedRecords:15"));

// The victim finds MPS by the folder that the variable names.
class Mps : public testing::Test {
 protected:
  Mps() {
    std::filesystem::create_directory(pipes_.path() / "mps");
    std::ofstream(pipes_.path() / "mps" / "control").put('x');
  }
  Trace recorded(const std::string& cupti_version, const std::string& folder) const {
    const VictimRun run({"every_kind"}, {.variables = {{"CUDA_MPS_PIPE_DIRECTORY", pipes_.path() / folder},
                                                       {"FAKE_CUPTI_VERSION", cupti_version}}});
    EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
    return run.trace();
  }

 private:
  ScratchFolder pipes_;
};

TEST_F(Mps, IsSaidAndRecordedInFullWhereThatIsSafe) {
  const Trace trace = recorded("130001", "mps");
  EXPECT_EQ(trace.losses(), "shared_by_mps=1 ");
  EXPECT_EQ(trace.metadata("detail"), "full");
  EXPECT_GT(trace.kernels.size(), 0u);
  EXPECT_EQ(recorded("130001", "elsewhere").losses(), "");
}

TEST_F(Mps, KernelsAreLeftOutWhereTheyMayHang) {
  const Trace trace = recorded("24", "mps");
  EXPECT_EQ(trace.losses(), "shared_by_mps=1 mps_kernels=1 ");
  EXPECT_EQ(trace.metadata("detail"), "transfers");
  EXPECT_EQ(trace.kernels.size(), 0u);
  EXPECT_GT(trace.copies.size(), 0u);
  EXPECT_GT(recorded("24", "elsewhere").kernels.size(), 0u);
}

TEST(Failures, RecordsThatCannotBeSteppedOverAreCounted) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", "cuptiActivityGetNextRecord:1"}});
  expect_unharmed(run);
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.copies.empty());
  EXPECT_GT(trace.loss(Loss::kUnknownActivity), 0u);
}

TEST(Failures, FlushesThatFailAreCountedAndTheLastOneBringsAll) {
  const VictimRun run({"paced", "250", "2"}, {.variables = {{"FAKE_CUPTI_FAIL", "cuptiActivityFlushAll=0:999"}}});
  EXPECT_EQ(run.outcome().out, "paced 250\n");
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies.size(), 250u);
  EXPECT_GT(trace.loss(Loss::kCuptiCallFailed), 0u);
}

TEST(Failures, GraphNodesWithoutIdsLeaveCopiesWithoutACapture) {
  const VictimRun run({"graph", "2"}, {.variables = {{"FAKE_CUPTI_FAIL", "cuptiGetGraphNodeId:1"}}});
  EXPECT_EQ(run.outcome().exit_code, 0);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies.size(), 4u);
  EXPECT_TRUE(trace.graph_nodes.empty());
}

TEST(Failures, ManagedMemoryThatCannotBeWatchedIsCounted) {
  const VictimRun run({"every_kind"},
                      {.variables = {{"FAKE_CUPTI_FAIL", "cuptiActivityConfigureUnifiedMemoryCounter:27"}}});
  EXPECT_EQ(run.outcome().exit_code, 0);
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.migrations.empty());
  EXPECT_EQ(trace.copies.size(), 13u);
  EXPECT_EQ(trace.loss(Loss::kCuptiCallFailed), 1u);
}

TEST(Failures, MissingLibraryIsNamedInTheTrace) {
  const VictimRun run = run_with({{"TURNPIKE_CUPTI", "/nowhere/libcupti.so.13"}});
  expect_unharmed(run);
  EXPECT_NE(run.trace().metadata("unusable").find("/nowhere/libcupti.so.13"), std::string::npos);
  EXPECT_NE(run.outcome().err.find("not recorded"), std::string::npos);
}

TEST(Failures, QuietSaysNothing) {
  const VictimRun run = run_with({{"TURNPIKE_CUPTI", "/nowhere/libcupti.so.13"}, {"TURNPIKE_QUIET", "1"}});
  EXPECT_EQ(run.outcome().err, plain_outcome().err);
}

TEST(Failures, LibraryThatIsNoneIsNamedInTheTrace) {
  const VictimRun run = run_with({{"TURNPIKE_CUPTI", "/proc/self/cmdline"}});
  expect_unharmed(run);
  EXPECT_NE(run.trace().metadata("unusable"), "");
}

TEST(Failures, TooOldLibraryIsNamedInTheTrace) {
  const VictimRun run = run_with({{"TURNPIKE_CUPTI", fake_cupti(true)}});
  expect_unharmed(run);
  const std::string reason = run.trace().metadata("unusable");
  EXPECT_NE(reason.find("old"), std::string::npos) << reason;
}

TEST(Failures, AnotherSubscriberIsLeftInPeace) {
  const VictimRun plain({"other_subscriber"}, {.is_recorded = false});
  const VictimRun run({"other_subscriber"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.loss(Loss::kOtherCuptiUser), 1u);
  EXPECT_NE(trace.metadata("unusable").find("another tool"), std::string::npos);
}

TEST(Failures, WhoHoldsCuptiIsNamed) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", "cuptiSubscribe_v2:39"}});
  expect_unharmed(run);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.loss(Loss::kOtherCuptiUser), 1u);
  const std::string reason = trace.metadata("unusable");
  EXPECT_NE(reason.find("another tool is using CUPTI in this process: \"Nsight Systems\""), std::string::npos)
      << reason;
}

TEST(Failures, WhatTakesNoNameIsSubscribedToWithoutOne) {
  const VictimRun run = run_with({{"FAKE_CUPTI_FAIL", "cuptiSubscribe_v2:1"}});
  expect_unharmed(run);
  EXPECT_EQ(run.trace().copies.size(), 201u);
}

TEST(Failures, LibraryThatIsNotAskedToRecordLetsTheProgramRun) {
  const VictimRun run = run_with({{TURNPIKE_ENV_RUN, ""}});
  expect_unharmed(run);
  EXPECT_EQ(run.outcome().err, plain_outcome().err);
  EXPECT_FALSE(std::filesystem::exists(run.run_directory()));
}

TEST(Disk, DirectoryThatCannotBeMadeIsHarmless) {
  const VictimRun run = run_with({{TURNPIKE_ENV_RUN, "/proc/nowhere/run.tpk"}});
  expect_unharmed(run);
  EXPECT_NE(run.outcome().err.find("/proc/nowhere/run.tpk"), std::string::npos);
}

TEST(Disk, RunThatIsAFileIsHarmless) {
  const VictimRun run = run_with({{TURNPIKE_ENV_RUN, victim_path()}});
  expect_unharmed(run);
  EXPECT_NE(run.outcome().err.find("turnpike:"), std::string::npos);
}

TEST(Disk, FullDiskLosesRecordsNotTheProgram) {
  // 150 000 uploads need more than the limit, and what is written first needs less: on a fast machine the uploads of 20
  // ms take a megabyte. The signal SIGXFSZ would end the program.
  const std::size_t count = is_sanitized() ? 40'000 : 150'000;
  const VictimRun plain({"uploads", std::to_string(count)}, {.is_recorded = false});
  const VictimRun run({"uploads", std::to_string(count)}, {.file_limit_bytes = is_sanitized() ? 2'000'000 : 8'000'000});
  EXPECT_EQ(run.outcome().signal, 0);
  EXPECT_EQ(run.outcome().exit_code, plain.outcome().exit_code);
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_GT(trace.calls.size() + trace.copies.size(), 0u);
  EXPECT_LT(trace.copies.size(), count);
  EXPECT_EQ(trace.loss(Loss::kDamagedBytes), 0u) << trace.losses();
  EXPECT_GT(trace.loss(Loss::kWriteFailed), 0u) << trace.losses();
  EXPECT_GT(run.status().loss_count, 0u);
}

// What holds of each recording that stopped: the program ran on, and the file is whole.
void expect_stopped(const VictimRun& run, Loss reason) {
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_EQ(trace.loss(reason), 1u) << trace.losses();
  EXPECT_TRUE(trace.process.end.has_value());
  for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kEndedEarly, Loss::kUndefinedReference}) {
    EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
  }
  EXPECT_EQ(run.status().stopped_at_size_count, reason == Loss::kStoppedAtSize ? 1u : 0u);
  EXPECT_EQ(run.status().stopped_disk_low_count, reason == Loss::kStoppedDiskLow ? 1u : 0u);
}

TEST(Disk, RecordingStopsAtItsSize) {
  const VictimRun run({"paced", "600", "1"}, {.variables = {{"TURNPIKE_MAX_BYTES", "60000"}}});
  EXPECT_EQ(run.outcome().out, "paced 600\n");
  expect_stopped(run, Loss::kStoppedAtSize);
  const Trace trace = run.trace();
  EXPECT_GT(trace.copies.size(), 50u);
  EXPECT_LT(trace.copies.size(), 600u);
  EXPECT_EQ(trace.loss(Loss::kMissingActivity), 0u) << trace.losses();
}

class FakeDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime must be loaded first";
  }
  static VictimRun run(std::vector<std::string> arguments, Variables variables) {
    variables["LD_PRELOAD"] = fake_libraries() + "/libfakedisk.so";
    return VictimRun(std::move(arguments), {.variables = std::move(variables)});
  }
};

TEST_F(FakeDisk, WithRoomIsNoReasonToStop) {
  EXPECT_EQ(run({"paced", "50", "1"}, {}).trace().losses(), "");
}

TEST_F(FakeDisk, ThatGetsLowStopsTheRecording) {
  const VictimRun low = run({"paced", "2000", "1"}, {{"FAKE_DISK_LOW_AFTER", "2"}});
  EXPECT_EQ(low.outcome().out, "paced 2000\n");
  expect_stopped(low, Loss::kStoppedDiskLow);
  EXPECT_GT(low.trace().copies.size(), 100u);
  EXPECT_LT(low.trace().copies.size(), 1900u);
}

TEST_F(FakeDisk, ThatIsLowFromTheStartTakesOnlyTheReason) {
  const VictimRun low = run({"paced", "300", "1"}, {{"FAKE_DISK_LOW_AFTER", "1"}});
  expect_stopped(low, Loss::kStoppedDiskLow);
  EXPECT_LT(low.trace().copies.size(), 100u);
}

TEST_F(FakeDisk, ThatIsFullStopsTheRecording) {
  const VictimRun full = run({"paced", "600", "1"}, {{"FAKE_DISK_BYTES", "60000"}});
  EXPECT_EQ(full.outcome().out, "paced 600\n");
  expect_stopped(full, Loss::kStoppedDiskLow);
  EXPECT_GT(full.trace().loss(Loss::kWriteFailed), 0u);
  EXPECT_LT(full.trace().copies.size(), 600u);
}

// A file system that hangs costs one wait, not one for each call.
TEST_F(FakeDisk, ThatStallsLosesRecordsNotTime) {
  const auto start = std::chrono::steady_clock::now();
  const VictimRun stalled = run({"many", "20000"}, {{"FAKE_DISK_STALL_MS", "3000"}});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(stalled.outcome().exit_code, 0);
  const Trace trace = stalled.trace();
  // With a wait each, there would be 15.
  EXPECT_GT(trace.loss(Loss::kCallBuffersFull), 1000u) << trace.losses();
  EXPECT_TRUE(trace.process.end.has_value());
}

TEST(Disk, DiskThatIsFullFromTheStartIsHarmless) {
  const VictimRun run({"uploads", "200"}, {.file_limit_bytes = 0});
  // Its own output is cut as well: only the end can be compared.
  EXPECT_EQ(run.outcome().signal, SIGXFSZ);
  const VictimRun plain({"uploads", "200"}, {.is_recorded = false, .file_limit_bytes = 0});
  EXPECT_EQ(plain.outcome().signal, run.outcome().signal);
}

TEST(Disk, RunRemovedWhileRecordingIsHarmless) {
  std::filesystem::path removed;
  ScratchFolder folder;
  const auto run_path = folder.path() / "run.tpk";
  Setting setting;
  setting.variables = {{TURNPIKE_ENV_RUN, run_path}};
  setting.meanwhile = [&](pid_t) {
    for (int i = 0; i < 200 && !std::filesystem::exists(run_path); ++i) usleep(5'000);
    std::filesystem::remove_all(run_path);
  };
  const VictimRun run({"paced", "200", "2"}, setting);
  EXPECT_EQ(run.outcome().exit_code, 0);
  EXPECT_EQ(run.outcome().out, "paced 200\n");
}

}  // namespace
}  // namespace turnpike::record_tests
