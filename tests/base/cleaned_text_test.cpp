// Text from anywhere, made fit for a terminal.
#include "base/cleaned_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(CleanedText, KeepsOnlyTheControlCharactersThatAreAskedFor) {
  EXPECT_EQ(cleaned("a\tb\nc\x1b"), "a\\x09b\\x0ac\\x1b");
  EXPECT_EQ(cleaned("a\tb\nc\x1b", "\t\n"), "a\tb\nc\\x1b");
}

TEST(PrintableJson, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable_json("{\n  \"a\": \"x\"\n}"), "{\n  \"a\": \"x\"\n}");
  EXPECT_EQ(printable_json("\"\xc2\x9b caf\xc3\xa9 \xe2\x80\xae \x7f\""), "\"\\u009b caf\xc3\xa9 \\u202e \\u007f\"");
  EXPECT_EQ(printable_json("\"\xf3\xa0\x80\x81\""), "\"\\udb40\\udc01\"") << "an invisible tag beyond 16 bits";
}

}  // namespace
}  // namespace turnpike
