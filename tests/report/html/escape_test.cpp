#include "report/html/escape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "report/html/hostile.h"

namespace turnpike::report::html {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    ASSERT_TRUE(point.is_valid);
    text.remove_prefix(point.bytes);
  }
}

TEST(HtmlEscape, LeavesNothingThatIsMarkup) {
  for (const std::string& name : hostile_names()) {
    const std::string text = escaped(name);
    EXPECT_EQ(text.find_first_of("<>\"'"), std::string::npos) << text.substr(0, 80);
    expect_utf8(text);
  }
}

TEST(HtmlEscape, ShowsWhatCannotBeSeen) {
  EXPECT_EQ(escaped("a\xE2\x80\xAE"), "a\\u202e");
  EXPECT_EQ(escaped("\x1b[31m"), "\\u001b[31m");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(escaped("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(escaped("\tx"), "\\u0009x");
  EXPECT_EQ(escaped_code("\tx < \xE2\x80\xAE"), "\tx &lt; \\u202e");
}

TEST(HtmlEscape, KeepsOrdinaryTextOfAnyLanguage) {
  EXPECT_EQ(escaped("Größe 変数 train.py:42"), "Größe 変数 train.py:42");
  EXPECT_EQ(escaped("a & b"), "a &amp; b");
}

TEST(HtmlEscape, WritesStringsOfJsonThatCannotEndTheirScript) {
  for (const std::string& name : hostile_names()) {
    std::string json;
    append_json_string(json, name);
    EXPECT_EQ(json.find_first_of("<>"), std::string::npos) << json.substr(0, 80);
    EXPECT_THAT(json, Not(HasSubstr("\xE2\x80\xA8")));
    EXPECT_THAT(json, Not(HasSubstr("\xE2\x80\xA9")));
    expect_utf8(json);
    const auto parsed = nlohmann::json::parse(json, nullptr, false);
    ASSERT_TRUE(parsed.is_string()) << json.substr(0, 80);
    // Only bytes that are no UTF-8 change.
    std::string plain;
    append_json_string(plain, parsed.get<std::string>());
    EXPECT_EQ(plain, json);
  }
}

TEST(HtmlEscape, MakesJsonOfOthersFitForAScript) {
  EXPECT_EQ(json_for_script("{\"a\": \"</script>\xE2\x80\xA8\"}"), "{\"a\": \"\\u003c/script\\u003e\\u2028\"}");
}

TEST(HtmlEscape, CutsBetweenCharacters) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "abc...");
  EXPECT_EQ(cut("ab\xC3\xA4", 3), "ab...");
}

}  // namespace
}  // namespace turnpike::report::html
