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

TEST(SummaryText, SaysWhatStoppedInItsLastLineAndCountsItNotAsARecord) {
  TurnpikeStatus status = one_process();
  status.process_count = 3;
  status.loss_count = status.stopped_at_size_count = 1;
  EXPECT_THAT(summary_text(status, "train.tpk", true), Not(HasSubstr("lost")));
  EXPECT_THAT(status_line_text(status, seconds(0)), Not(HasSubstr("lost")));
  status.loss_count = 5;
  status.stopped_disk_low_count = 2;
  const std::string text = summary_text(status, "train.tpk", true);
  EXPECT_THAT(text, HasSubstr("2 records were lost"));
  EXPECT_THAT(text, HasSubstr("the run is train.tpk, recording of 1 process stopped at --max-size, recording of 2 "
                              "processes stopped because the disk is nearly full; next: turnpike report train.tpk\n"));
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

// Every counter has a value of its own.
TurnpikeStatus every_counter() {
  TurnpikeStatus status{};
  status.process_count = 2;
  for (std::size_t at = 0; at < 6; ++at) {
    status.transfer_count[at] = 11 + at;
    status.transfer_bytes[at] = 21'000 + 1'000 * at;
  }
  status.sync_count = 31;
  status.kernel_count = 41;
  status.host_time_ns = 51'000'000;
  status.loss_count = 61;
  status.unusable_count = 1;
  status.written_bytes = 71'000;
  return status;
}

TEST(StatusLineText, HasEveryCounterInItsPlace) {
  EXPECT_EQ(status_line_text(every_counter(), seconds(3599)),
            "turnpike 59:59 | 2 processes | to device 11, 21.0 kB | to host 12, 22.0 kB | copies and waits 51.0 ms | "
            "lost 61");
  EXPECT_EQ(status_line_text(one_process(), seconds(59)),
            "turnpike 0:59 | to device 24, 1.20 MB | to host 0, 0 B | copies and waits 61.2 ms");
  TurnpikeStatus waited_not = one_process();
  waited_not.host_time_ns = 0;
  EXPECT_EQ(status_line_text(waited_not, seconds(60)),
            "turnpike 1:00 | to device 24, 1.20 MB | to host 0, 0 B | copies and waits 0 s");
}

TEST(SummaryText, HasEveryCounterInItsLine) {
  EXPECT_EQ(summary_text(every_counter(), "train.tpk", true), R"(turnpike: recorded 2 processes into train.tpk (71.0 kB)
  host to device            11   21.0 kB
  device to host            12   22.0 kB
  within a device           13   23.0 kB
  device to device          14   24.0 kB
  host to host              15   25.0 kB
  memset                    16   26.0 kB
  synchronisations          31
  kernels                   41
  copies and waits     51.0 ms
  61 records were lost: the report says which and why
  1 process uses CUDA but could not be recorded: the report says why
  the run is train.tpk; next: turnpike report train.tpk
)");
}

TEST(SummaryText, LeavesOutWhatThereWasNoneOf) {
  TurnpikeStatus status{};
  status.process_count = 1;
  EXPECT_EQ(summary_text(status, "train.tpk", true), R"(turnpike: recorded 1 process into train.tpk (0 B)
  no transfers
  synchronisations           0
  copies and waits         0 s
  the run is train.tpk; next: turnpike report train.tpk
)");
}

TEST(SummaryText, SaysWhyThereIsNothing) {
  TurnpikeStatus status{};
  EXPECT_EQ(summary_text(status, "train.tpk", true),
            "turnpike: recorded into train.tpk; the counters did not arrive (the program may run in a container)\n"
            "  the run is train.tpk; next: turnpike report train.tpk\n");
  EXPECT_EQ(summary_text(status, "train.tpk", false),
            "turnpike: nothing was recorded, because no process initialised CUDA.\n"
            "  If the program does use a GPU, it may have done so in a process that was not started by this command\n"
            "  (a server, a container, ssh), or with an environment of its own.\n");
  status.unusable_count = 1;
  EXPECT_EQ(summary_text(status, "train.tpk", true),
            "turnpike: nothing was recorded.\n"
            "  1 process uses CUDA but could not be recorded: the report says why\n"
            "  the run is train.tpk; next: turnpike report train.tpk\n");
}

TEST(SummaryText, QuotesOnlyWhatAShellWouldRead) {
  const auto quoted = [](const std::string& run) {
    const std::string text = summary_text(one_process(), run, true);
    const std::string before = "next: turnpike report ";
    return text.substr(text.rfind(before) + before.size());
  };
  EXPECT_EQ(quoted("a/B-9_.+=:,@%z.tpk"), "a/B-9_.+=:,@%z.tpk\n");
  for (const char* special : {"a b", "a$b", "a*b", "~a", "a;b", "a\\b", "a\"b"}) {
    EXPECT_EQ(quoted(special), "'" + std::string(special) + "'\n");
  }
  EXPECT_EQ(quoted(""), "''\n");
}

}  // namespace
}  // namespace turnpike::cli
