// What `turnpike record` says of a recording.
#include "cli/record_summary.h"

#include <gmock/gmock.h>

namespace turnpike::cli {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

TurnpikeStatus one_process() {
  TurnpikeStatus status{};
  status.process_count = 1;
  status.transfer_count[0] = 24;
  status.transfer_bytes[0] = 1'200'000;
  status.sync_count = 7;
  status.host_time_ns = 61'200'000;
  status.written_bytes = 5000;
  return status;
}

TEST(StatusLineText, IsEmptyUntilAProcessRecords) {
  EXPECT_EQ(status_line_text(TurnpikeStatus{}, seconds(5)), "");
}

TEST(StatusLineText, ShowsBothDirectionsTimeAndBlocking) {
  EXPECT_EQ(status_line_text(one_process(), seconds(65)),
            "turnpike 1:05 | to device 24, 1.20 MB | to host 0, 0 B | copies and waits 61.2 ms");
}

TEST(StatusLineText, ShowsLossesAndProcessesOnlyWhereThereAreSome) {
  TurnpikeStatus status = one_process();
  EXPECT_THAT(status_line_text(status, seconds(0)), Not(HasSubstr("lost")));
  EXPECT_THAT(status_line_text(status, seconds(0)), Not(HasSubstr("process")));
  status.loss_count = 3;
  status.process_count = 2;
  EXPECT_THAT(status_line_text(status, seconds(0)), HasSubstr("lost 3"));
  EXPECT_THAT(status_line_text(status, seconds(0)), HasSubstr("2 processes"));
}

TEST(SummaryText, NamesOnlyDirectionsThatWereUsed) {
  const std::string text = summary_text(one_process(), "train.tpk", true);
  EXPECT_THAT(text, HasSubstr("recorded 1 process into train.tpk (5.00 kB)"));
  EXPECT_THAT(text, HasSubstr("host to device"));
  EXPECT_THAT(text, Not(HasSubstr("device to host")));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
  EXPECT_THAT(text, HasSubstr("next: turnpike report train.tpk\n"));
}

TEST(SummaryText, SaysThatThereWereNoTransfers) {
  TurnpikeStatus status{};
  status.process_count = 1;
  EXPECT_THAT(summary_text(status, "train.tpk", true), HasSubstr("no transfers"));
}

TEST(SummaryText, SaysWhatWasLostAndWhereToLook) {
  TurnpikeStatus status = one_process();
  status.loss_count = 1;
  EXPECT_THAT(summary_text(status, "train.tpk", true), HasSubstr("1 record was lost: the report says"));
}

TEST(SummaryText, SaysThatProcessesCouldNotBeRecorded) {
  TurnpikeStatus status{};
  status.unusable_count = 2;
  const std::string text = summary_text(status, "train.tpk", true);
  EXPECT_THAT(text, HasSubstr("nothing was recorded"));
  EXPECT_THAT(text, HasSubstr("2 processes use CUDA but could not be recorded: the report says why"));
  EXPECT_THAT(text, HasSubstr("turnpike report train.tpk"));
}

TEST(SummaryText, SaysThatNoProcessInitialisedCuda) {
  const std::string text = summary_text(TurnpikeStatus{}, "train.tpk", false);
  EXPECT_THAT(text, HasSubstr("no process initialised CUDA"));
  EXPECT_THAT(text, Not(HasSubstr("turnpike report")));
}

TEST(SummaryText, DoesNotTakeMissingCountersForNothing) {
  const std::string text = summary_text(TurnpikeStatus{}, "train.tpk", true);
  EXPECT_THAT(text, HasSubstr("the counters did not arrive"));
  EXPECT_THAT(text, Not(HasSubstr("no transfers")));
}

TEST(SummaryText, QuotesTheRunForTheShell) {
  EXPECT_THAT(summary_text(one_process(), "it's a run.tpk", true), HasSubstr("turnpike report 'it'\\''s a run.tpk'\n"));
}

}  // namespace
}  // namespace turnpike::cli
