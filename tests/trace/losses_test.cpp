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
      Loss::kCuptiDropped,       Loss::kActivityBuffersFull, Loss::kCallBuffersFull,    Loss::kUnknownActivity,
      Loss::kInvalidDeviceTimes, Loss::kStacksFull,          Loss::kStackNotWalked,     Loss::kStackTruncated,
      Loss::kWriteFailed,        Loss::kOtherCuptiUser,      Loss::kCuptiCallFailed,    Loss::kClockStepped,
      Loss::kUnnamedLibrary,     Loss::kNoNativeFrames,      Loss::kEndedEarly,         Loss::kPythonUnknown,
      Loss::kMemoryUnreadable,   Loss::kStoppedAtSize,       Loss::kStoppedDiskLow,     Loss::kNamesFull,
      Loss::kNvtxNotHeard,       Loss::kOtherDeviceClock,    Loss::kSharedByMps,        Loss::kMpsKernels,
      Loss::kRangesTooMany,      Loss::kFunctionsNotHeard,   Loss::kNotClosed,          Loss::kDamagedBytes,
      Loss::kUnknownChunk,       Loss::kUnknownRecord,       Loss::kUndefinedReference, Loss::kUnmatchedActivity,
      Loss::kCountMismatch,      Loss::kMissingActivity,     Loss::kUnreadableEvent,    Loss::kHiddenGraphCopies,
      Loss::kUnknownCopySize,    Loss::kMissingSegment,      Loss::kPathsFolded};
  ASSERT_EQ(all_losses().size(), std::size(every));
  for (std::size_t i = 0; i < std::size(every); ++i) EXPECT_EQ(all_losses()[i].loss, every[i]) << i;
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
  for (const std::uint32_t number : {0u, 31u, 99u, 113u, 0xFFFFFFFFu}) EXPECT_EQ(find_loss(number), nullptr) << number;
}

}  // namespace
}  // namespace turnpike::trace
