#include "report/text/incomplete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "report/text/loss_sentence.h"
#include "report/text/terminal.h"
#include "report/whole_text.h"
#include "trace/losses.h"

namespace turnpike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Incomplete, SaysHowMuchCouldNotBeRead) {
  EXPECT_EQ(incomplete_reason({{"damaged_bytes", 10768}}), "10768 bytes are damaged or cut off; figures are too low");
  EXPECT_EQ(incomplete_reason({{"damaged_bytes", 1}, {"not_closed", 1}, {"unreadable_file", 2}}),
            "2 files cannot be read, 1 file has no end, 1 byte is damaged or cut off; figures are too low");
}

TEST(Incomplete, IsNothingThatOnlyLacksNamesOrRecords) {
  EXPECT_EQ(incomplete_reason({}), "");
  EXPECT_EQ(incomplete_reason({{"stack_truncated", 5}, {"call_buffers_full", 4}, {"damaged_bytes", 0}}), "");
}

TEST(Incomplete, HasWordsForEachLossThatMakesARunSo) {
  for (const trace::LossInfo& info : trace::all_losses()) {
    const bool has_words = !incomplete_reason({{std::string(info.name), 3}}).empty();
    EXPECT_EQ(has_words, info.effect == trace::LossEffect::kIncomplete) << info.name;
  }
  EXPECT_NE(incomplete_reason({{analyze::kUnreadableFile, 1}}), "");
}

TEST(Incomplete, CountsTheRecordsThatNeverCameIntoTheFile) {
  EXPECT_EQ(lost_records_sentence({{"cupti_dropped", 3}, {"call_buffers_full", 4}, {"damaged_bytes", 9}}),
            "7 records were lost; figures are too low");
  EXPECT_EQ(lost_records_sentence({{"cupti_dropped", 1}}), "1 record was lost; figures are too low");
  EXPECT_EQ(lost_records_sentence({{"stack_truncated", 1}}), "");
}

TEST(Incomplete, LeavesNothingThatItDoesNotKnowAsNone) {
  analyze::Report report;
  EXPECT_EQ(none_words(report, "none"), "none");
  report.source.unusable = {"There is no driver."};
  EXPECT_EQ(none_words(report, "none"), "unknown: nothing was recorded of a process");
  report.source.inputs.unread = {{"not_closed", 1}};
  EXPECT_EQ(none_words(report, "none"), "unknown: the recording is incomplete");
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr("TURNPIKE REPORT\n  INCOMPLETE: 1 file has no end; figures are too low. See LOSSES.\n"));
  EXPECT_THAT(text, HasSubstr("recorded  ? in 0 processes"));
  EXPECT_THAT(text, Not(HasSubstr("none")));
}

TEST(LossSentence, SpeaksOfTheToolThatWroteTheFile) {
  const auto of = [](const char* kind, const char* loss) {
    analyze::Source source;
    source.kind = kind;
    return loss_sentence(loss, source);
  };
  EXPECT_THAT(of("turnpike", "not_closed"), HasSubstr("turnpike record"));
  EXPECT_THAT(of("kineto", "not_closed"), Not(HasSubstr("turnpike record")));
  EXPECT_THAT(of("kineto", "not_closed"), HasSubstr("export it again"));
  EXPECT_THAT(of("nsys", "damaged_bytes"), HasSubstr("export it again"));
}

}  // namespace
}  // namespace turnpike::report
