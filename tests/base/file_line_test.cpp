// Lines of files as text.
#include "base/file_line.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(FileLine, IsWhatStandsAroundTheLastColon) {
  const auto parsed = parse_file_line("a:b/train.py:23");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->file, "a:b/train.py");
  EXPECT_EQ(parsed->line, 23U);
}

TEST(FileLine, MayBeALineAlone) {
  for (const char* text : {"30", ":30"}) {
    const auto parsed = parse_file_line(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->file, "");
    EXPECT_EQ(parsed->line, 30U);
  }
}

TEST(FileLine, MayHaveTheMarkOfCompiledCode) {
  const auto parsed = parse_file_line("model.py:42 (compiled)");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->file, "model.py");
  EXPECT_EQ(parsed->line, 42U);
  EXPECT_FALSE(parse_file_line("model.py:42 (compiled) "));
}

TEST(FileLine, NeedsANumberThatFits) {
  for (const char* text : {"", ":", "train.py", "train.py:", "train.py:x", "train.py:2x", "train.py: 2", "train.py:-2",
                           "train.py:4294967296"}) {
    EXPECT_FALSE(parse_file_line(text)) << text;
  }
  EXPECT_EQ(parse_file_line("train.py:4294967295")->line, 4294967295U);
}

}  // namespace
}  // namespace turnpike
