// Every loss has a name that programs can use and sentences that people can.
#include "trace/losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace turnpike::trace {
namespace {

TEST(Losses, AreAllThereInOrder) {
  const Loss every[] = {
      Loss::kCuptiDropped,       Loss::kActivityBuffersFull, Loss::kCallBuffersFull, Loss::kUnknownActivity,
      Loss::kInvalidDeviceTimes, Loss::kStacksFull,          Loss::kStackNotWalked,  Loss::kStackTruncated,
      Loss::kWriteFailed,        Loss::kOtherCuptiUser,      Loss::kCuptiCallFailed, Loss::kClockStepped,
      Loss::kUnnamedLibrary,     Loss::kNoNativeFrames,      Loss::kEndedEarly,      Loss::kPythonUnknown,
      Loss::kMemoryUnreadable,   Loss::kStoppedAtSize,       Loss::kStoppedDiskLow,  Loss::kNamesFull,
      Loss::kNvtxNotHeard,       Loss::kOtherDeviceClock,    Loss::kSharedByMps,     Loss::kMpsKernels,
      Loss::kRangesTooMany,      Loss::kFunctionsNotHeard,   Loss::kEndedByExec,     Loss::kEndedInExit,
      Loss::kNotClosed,          Loss::kDamagedBytes,        Loss::kUnknownChunk,    Loss::kUnknownRecord,
      Loss::kUndefinedReference, Loss::kUnmatchedActivity,   Loss::kCountMismatch,   Loss::kMissingActivity,
      Loss::kUnreadableEvent,    Loss::kHiddenGraphCopies,   Loss::kUnknownCopySize, Loss::kMissingSegment,
      Loss::kPathsFolded,        Loss::kMissingAtKill,       Loss::kMissingAtExec,   Loss::kMissingAtExit};
  ASSERT_EQ(all_losses().size(), std::size(every));
  for (std::size_t i = 0; i < std::size(every); ++i) EXPECT_EQ(all_losses()[i].loss, every[i]) << i;
}

TEST(Losses, TellMissingCopiesByTheWayInWhichTheProcessEnded) {
  const auto missing = [](std::initializer_list<Loss> losses) {
    std::map<std::uint32_t, std::uint64_t> of_process;
    for (const Loss loss : losses) of_process[static_cast<std::uint32_t>(loss)] = 1;
    return missing_activity_of(of_process);
  };
  EXPECT_EQ(missing({}), Loss::kMissingActivity);
  EXPECT_EQ(missing({Loss::kNotClosed}), Loss::kMissingActivity) << "nobody knows how it ended";
  EXPECT_EQ(missing({Loss::kEndedEarly}), Loss::kMissingAtKill);
  EXPECT_EQ(missing({Loss::kEndedByExec}), Loss::kMissingAtExec);
  EXPECT_EQ(missing({Loss::kEndedInExit}), Loss::kMissingAtExit);
  EXPECT_EQ(missing({Loss::kEndedEarly, Loss::kOtherCuptiUser}), Loss::kMissingActivity) << "either may be the cause";
}

TEST(Losses, HaveDistinctSnakeCaseNames) {
  std::set<std::string_view> names;
  for (const LossInfo& info : all_losses()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(std::all_of(info.name.begin(), info.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '_';
    })) << info.name;
  }
}

TEST(Losses, SayWhatHappenedAndWhatToDo) {
  for (const LossInfo& info : all_losses()) {
    const auto end_of_first = info.sentence.find(". ");
    ASSERT_NE(end_of_first, std::string_view::npos) << info.name;
    EXPECT_EQ(info.sentence.find(". ", end_of_first + 1), std::string_view::npos) << info.name;
    EXPECT_TRUE(info.sentence.ends_with('.')) << info.name;
  }
}

TEST(Losses, AreFoundByNumber) {
  for (const LossInfo& info : all_losses()) EXPECT_EQ(find_loss(static_cast<std::uint32_t>(info.loss)), &info);
}

TEST(Losses, AreNotFoundByNumbersOfLaterVersions) {
  for (const std::uint32_t number : {0u, 31u, 99u, 116u, 0xFFFFFFFFu}) EXPECT_EQ(find_loss(number), nullptr) << number;
}

}  // namespace
}  // namespace turnpike::trace
