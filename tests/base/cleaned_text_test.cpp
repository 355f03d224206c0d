// Text from anywhere, made fit for a terminal.
#include "base/cleaned_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(CleanedText, KeepsOnlyTheControlCharactersThatAreAskedFor) {
  EXPECT_EQ(cleaned("a\tb\nc\x1b"), "a\\x09b\\x0ac\\x1b");
  EXPECT_EQ(cleaned("a\tb\nc\x1b", "\t\n"), "a\tb\nc\\x1b");
}

TEST(CleanedText, BreaksUpWhatARunnerOfJobsObeys) {
  EXPECT_EQ(cleaned("::error::a"), "\\x3a:error::a");
  EXPECT_EQ(cleaned("a ::b"), "a \\x3a:b") << "a line may begin behind each blank";
  EXPECT_EQ(cleaned("a\xc2\xa0::b"), "a\xc2\xa0\\x3a:b");
  EXPECT_EQ(cleaned("a\n::b", "\n"), "a\n\\x3a:b");
  EXPECT_EQ(cleaned("a\n::b"), "a\\x0a::b") << "an escape is no blank";
  EXPECT_EQ(cleaned("c##[error]d"), "c\\x23#[error]d");
  EXPECT_EQ(cleaned("###[x"), "#\\x23#[x");
  EXPECT_EQ(cleaned(cleaned("::a ##[b")), cleaned("::a ##[b"));
}

TEST(CleanedText, LeavesNamesOfCppAsTheyAre) {
  for (const char* name : {"at::native::copy_", "void f<a::b>(::c)", "a :b", "#[a] ##"}) EXPECT_EQ(cleaned(name), name);
}

TEST(PrintableJson, BreaksUpWhatARunnerOfJobsObeys) {
  EXPECT_EQ(printable_json("[\"##[error]a\", \"::b\"]"), "[\"\\u0023#[error]a\", \"::b\"]");
}

TEST(PrintableJson, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable_json("{\n  \"a\": \"x\"\n}"), "{\n  \"a\": \"x\"\n}");
  EXPECT_EQ(printable_json("\"\xc2\x9b caf\xc3\xa9 \xe2\x80\xae \x7f\""), "\"\\u009b caf\xc3\xa9 \\u202e \\u007f\"");
  EXPECT_EQ(printable_json("\"\xf3\xa0\x80\x81\""), "\"\\udb40\\udc01\"") << "an invisible tag beyond 16 bits";
}

}  // namespace
}  // namespace turnpike
