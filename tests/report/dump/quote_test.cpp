// Text of a trace cannot break lines, nor reach the terminal.
#include "report/dump/quote.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

TEST(Quote, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("cudaMemcpyAsync /a b.py"), R"("cudaMemcpyAsync /a b.py")");
  EXPECT_EQ(quoted("modèle 模型 🚂"), "\"modèle 模型 🚂\"");
}

TEST(Quote, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(quoted(R"(a"b\c)"), R"("a\"b\\c")");
}

TEST(Quote, EscapesControlCharacters) {
  EXPECT_EQ(quoted(std::string_view("a\0b\n\t\x7f", 6)), R"("a\x00b\x0a\x09\x7f")");
  EXPECT_EQ(quoted("\x1b[31mred"), R"("\x1b[31mred")");
  EXPECT_EQ(quoted("python\x1ftrain.py"), R"("python\x1ftrain.py")");
}

TEST(Quote, EscapesControlsBeyondAscii) {
  EXPECT_EQ(quoted("\xc2\x9b"
                   "31m"),
            R"("\xc2\x9b31m")")
      << "CSI of eight-bit terminals";
  EXPECT_EQ(quoted("\xe2\x80\xa8"), R"("\xe2\x80\xa8")") << "line separator";
  EXPECT_EQ(quoted("\xe2\x80\xae"), R"("\xe2\x80\xae")") << "right-to-left override";
}

TEST(Quote, EscapesWhatIsNotUtf8ByteByByte) {
  EXPECT_EQ(quoted("\xff"), R"("\xff")");
  EXPECT_EQ(quoted("a\x80z"), R"("a\x80z")") << "continuation without a lead";
  EXPECT_EQ(quoted("\xc3("), R"("\xc3(")") << "lead without continuation";
  EXPECT_EQ(quoted("\xe6\xa8"), R"("\xe6\xa8")") << "cut off";
  EXPECT_EQ(quoted("\xc0\xaf"), R"("\xc0\xaf")") << "overlong in two bytes";
  EXPECT_EQ(quoted("\xe0\x80\xaf"), R"("\xe0\x80\xaf")") << "overlong in three";
  EXPECT_EQ(quoted("\xed\xa0\x80"), R"("\xed\xa0\x80")") << "surrogate";
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), R"("\xf4\x90\x80\x80")") << "beyond Unicode";
}

// The first and the last of each stretch that is escaped, and what stands beside them.
TEST(Quote, EscapesUpToTheEdges) {
  const auto is_kept = [](const std::string& text) { return report::quoted(text) == '"' + text + '"'; };
  for (const char* text : {" ", "~", "\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xe2\x80\x8a", "\xe2\x80\x90",
                           "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe2\x81\xb0", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf3\x9f\xbf\xbf"}) {
    EXPECT_TRUE(is_kept(text)) << quoted(text);
  }
  for (const char* text : {"\x1f", "\x7f", "\xc2\x80", "\xc2\x9f", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8",
                           "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa0", "\xe2\x81\xaf", "\xc2\xad",
                           "\xd8\x9c", "\xe2\x80\x8b", "\xef\xbb\xbf", "\xf3\xa0\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_FALSE(is_kept(text)) << quoted(text);
  }
  for (const char* text : {"\x80", "\xbf", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90", "\xf5\x80\x80\x80", "\xc2\xc0", "\xc2\x40", "\xf0\x90\x80"}) {
    EXPECT_FALSE(is_kept(text)) << quoted(text);
  }
  EXPECT_EQ(quoted("\xe2\x80\x8e"
                   "a\xf0\x9f"),
            R"("\xe2\x80\x8ea\xf0\x9f")");
}

TEST(Quote, BreaksUpWhatARunnerOfJobsObeys) {
  EXPECT_EQ(quoted("a##[error]b"), R"("a\x23#[error]b")");
  EXPECT_EQ(quoted("::a"), R"("::a")") << "behind its quote";
}

}  // namespace
}  // namespace turnpike::report
