// Whatever fails around the recorder: the program's output and exit code stay, and the trace says what is missing.
#include <gtest/gtest.h>
#include <sys/stat.h>

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
  // 20 000 uploads need more than the limit; the signal SIGXFSZ would end the program.
  const VictimRun plain({"uploads", "20000"}, {.is_recorded = false});
  const VictimRun run({"uploads", "20000"}, {.file_limit_bytes = 400'000});
  EXPECT_EQ(run.outcome().signal, 0);
  EXPECT_EQ(run.outcome().exit_code, plain.outcome().exit_code);
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_GT(trace.calls.size() + trace.copies.size(), 0u);
  EXPECT_LT(trace.copies.size(), 20'001u);
  EXPECT_EQ(trace.loss(Loss::kDamagedBytes), 0u) << trace.losses();
  EXPECT_GT(trace.loss(Loss::kWriteFailed), 0u) << trace.losses();
  EXPECT_GT(run.status().loss_count, 0u);
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
