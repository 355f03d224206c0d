// Lines of recorded source.
#include "base/source_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

using Lines = std::map<std::uint32_t, std::string>;

SourceText source_of(std::uint32_t first_line, std::string text) {
  SourceText source;
  source.add("/a/train.py", "v1", first_line, std::move(text));
  return source;
}

TEST(SourceText, GivesALineWithoutItsIndent) {
  const SourceText source = source_of(7, "def f():\n\t  x.cuda() \t\r\n   \nlast");
  EXPECT_EQ(source.line("/a/train.py", 7), "def f():");
  EXPECT_EQ(source.line("/a/train.py", 8), "x.cuda()");
  EXPECT_EQ(source.line("/a/train.py", 9), std::nullopt) << "blank";
  EXPECT_EQ(source.line("/a/train.py", 10), "last");
}

TEST(SourceText, GivesNothingWhereNothingWasRecorded) {
  const SourceText source = source_of(7, "a\nb\n");
  for (const std::uint32_t line : {0u, 6u, 9u, UINT32_MAX}) EXPECT_EQ(source.line("/a/train.py", line), std::nullopt);
  EXPECT_EQ(source.line("/b/train.py", 7), std::nullopt);
  EXPECT_TRUE(source.lines("/a/train.py", 9, 20).empty());
  EXPECT_TRUE(source.lines("/a/train.py", 8, 7).empty());
}

TEST(SourceText, GivesLinesAsTheyAre) {
  const SourceText source = source_of(7, "  a\r\n\nc\n");
  EXPECT_EQ(source.lines("/a/train.py", 1, 8), (Lines{{7, "  a"}, {8, ""}}));
  EXPECT_EQ(source.lines("/a/train.py", 8, 100), (Lines{{8, ""}, {9, "c"}}));
}

TEST(SourceText, JoinsPiecesThatOverlap) {
  SourceText source = source_of(7, "a\nb\n");
  source.add("/a/train.py", "v1", 8, "b\nc\n");
  source.add("/a/train.py", "v1", 20, "z\n");
  source.add("/a/train.py", "v1", 7, "a\n");
  EXPECT_EQ(source.lines("/a/train.py", 1, 100), (Lines{{7, "a"}, {8, "b"}, {9, "c"}, {20, "z"}}));
}

TEST(SourceText, OfALongLineOnlyTheStartIsShown) {
  EXPECT_EQ(source_of(1, std::string(10'000, 'x')).line("/a/train.py", 1)->size(), 4096u);
}

TEST(SourceText, TakesWhatOtherProcessesHave) {
  SourceText source = source_of(1, "a\n");
  source.add(source_of(1, "a\n"));
  source.add(source_of(2, "b\n"));
  EXPECT_EQ(source.lines("/a/train.py", 1, 9), (Lines{{1, "a"}, {2, "b"}}));
}

TEST(SourceText, ShowsNothingOfAFileThatDiffersBetweenProcesses) {
  SourceText source = source_of(1, "a\n");
  SourceText other;
  other.add("/a/train.py", "v2", 1, "b\n");
  other.add("/a/model.py", "v2", 1, "m\n");
  source.add(other);
  EXPECT_EQ(source.line("/a/train.py", 1), std::nullopt);
  EXPECT_EQ(source.line("/a/model.py", 1), "m");
}

}  // namespace
}  // namespace turnpike
