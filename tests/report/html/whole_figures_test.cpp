#include "report/html/whole_figures.h"

#include <gtest/gtest.h>

namespace turnpike::report::html {
namespace {

TEST(WholeFigures, AreNotPartedFromTheirUnit) {
  EXPECT_EQ(with_whole_figures("<p>saves 15.9 ms (&lt;1 %), 3 MB at 7.72 GB/s</p>"),
            "<p>saves 15.9\u00a0ms (&lt;1\u00a0%), 3\u00a0MB at 7.72\u00a0GB/s</p>");
  EXPECT_EQ(with_whole_figures("12 s"), "12\u00a0s");
}

TEST(WholeFigures, AreOnlyThoseWithAUnit) {
  const char* const kNone = "12 steps, 3 msgs, 4 bytes, ms 5 s_t, v2 of 3, 7  ms";
  EXPECT_EQ(with_whole_figures(kNone), kNone);
}

TEST(WholeFigures, OfCodeAndOfAttributesStayAsTheyAre) {
  const char* const kCode =
      "<td title=\"the CPU waits 3 ms\"><code>sleep(2 % b)</code><pre class=\"diff\"><del>1 % 2</del></pre></td>";
  EXPECT_EQ(with_whole_figures(kCode), kCode);
  EXPECT_EQ(with_whole_figures("<code>1 %</code> 1 %"), "<code>1 %</code> 1\u00a0%");
  EXPECT_EQ(with_whole_figures("<style>a{width:1 %}</style>"), "<style>a{width:1 %}</style>");
}

TEST(WholeFigures, OfBrokenMarkupLoseNothing) {
  EXPECT_EQ(with_whole_figures("1 ms <b"), "1\u00a0ms <b");
  EXPECT_EQ(with_whole_figures("</code>1 ms<"), "</code>1\u00a0ms<");
}

}  // namespace
}  // namespace turnpike::report::html
