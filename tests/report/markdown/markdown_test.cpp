// Untrusted text in Markdown: it shows, and marks nothing up.
#include "report/markdown/markdown.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

TEST(Markdown, TextIsNoMarkup) {
  EXPECT_EQ(markdown_text("train.py, 3 ms (12 %)"), "train.py, 3 ms (12 %)");
  EXPECT_EQ(markdown_text("a|b"), "a&#124;b");
  EXPECT_EQ(markdown_text("<img src=x>"), "&#60;img src=x>");
  EXPECT_EQ(markdown_text("&amp;"), "&#38;amp;");
  EXPECT_EQ(markdown_text("@someone #12 [a](b) `c` *d* _e_ ~f~ !g"),
            "&#64;someone &#35;12 &#91;a&#93;(b) &#96;c&#96; &#42;d&#42; &#95;e&#95; &#126;f&#126; &#33;g");
  EXPECT_EQ(markdown_text("https://a.b"), "https&#58;//a.b") << "no link";
  EXPECT_EQ(markdown_text(":warning: a.py:3, here: b"), "&#58;warning: a.py:3, here: b") << "no picture";
  for (const char* text : {"- a", "> a", "+ a", "= a"}) EXPECT_TRUE(markdown_text(text).starts_with("&#")) << text;
}

TEST(Markdown, TextIsOneLine) {
  EXPECT_EQ(markdown_text("a\nb").find('\n'), std::string::npos);
  EXPECT_EQ(markdown_code("a\r\nb").find('\n'), std::string::npos);
}

TEST(Markdown, ATableHasTextToTheLeft) {
  EXPECT_EQ(markdown_table_head({"what", "cost"}, 1), "| what | cost |\n| --- | ---: |\n");
}

TEST(Markdown, NoLineEndsItsBlock) {
  EXPECT_EQ(markdown_block("diff", {"-x", "+y"}), "```diff\n-x\n+y\n```\n");
  EXPECT_EQ(markdown_block("", {"```", "a"}), "````\n```\na\n````\n");
  EXPECT_EQ(markdown_block("", {"a\n```\nb"}), "````\na\\x0a```\\x0ab\n````\n");
}

}  // namespace
}  // namespace turnpike::report
