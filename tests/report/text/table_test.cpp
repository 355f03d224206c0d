// Tables on pages of every width.
#include "report/text/table.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

std::string printed(const Table& table, std::size_t width, bool has_colour = false) {
  Page page(width, has_colour);
  table.print(page);
  return page.text();
}

// Natural widths: 4, 20, 5, 6, 7; with gaps 50 columns.
Table five_columns() {
  Table table({{"rank", Align::kLeft},
               {"where", Align::kLeft, true},
               {.title = "count", .leaves_as = 2},
               {.title = "device", .leaves_as = 3},
               {.title = "blocked", .leaves_as = 1}});
  table.add_row({"1", "abcdefghijklmnopqrst", "12", "3", "4567"});
  return table;
}

TEST(Table, ColumnsAreAsWideAsTheirContent) {
  EXPECT_EQ(printed(five_columns(), 100),
            "rank  where                 count  device  blocked\n"
            "1     abcdefghijklmnopqrst     12       3     4567\n");
  EXPECT_EQ(printed(five_columns(), 50), printed(five_columns(), 100)) << "it just fits";
}

TEST(Table, TheFlexibleColumnGivesWayFirst) {
  EXPECT_EQ(printed(five_columns(), 49),
            "rank  where                count  device  blocked\n"
            "1     abcde...jklmnopqrst     12       3     4567\n"
            "      abcdefghijklmnopqrst\n");
  EXPECT_EQ(printed(five_columns(), 42),
            "rank  where         count  device  blocked\n"
            "1     abc...opqrst     12       3     4567\n"
            "      abcdefghijklmnopqrst\n");
}

TEST(Table, ThenTheLeastNeededColumnsGo) {
  EXPECT_EQ(printed(five_columns(), 41),
            "rank  where                count  blocked\n"
            "1     abcde...jklmnopqrst     12     4567\n"
            "      abcdefghijklmnopqrst\n"
            "  no room for: device\n");
  EXPECT_EQ(printed(five_columns(), 33),
            "rank  where               blocked\n"
            "1     abcde...klmnopqrst     4567\n"
            "      abcdefghijklmnopqrst\n"
            "  no room for: count, device\n");
  EXPECT_EQ(printed(five_columns(), 26),
            "rank  where\n"
            "1     abcdefghijklmnopqrst\n"
            "  no room for: count,\n"
            "  device, blocked\n");
}

TEST(Table, WhatStaysIsCutWhereThePageEnds) {
  Table table({{"first column"}, {"second column"}});
  table.add_row({"1", "2"});
  EXPECT_EQ(printed(table, 20), "first column  sec...\n           1     ...\n");
}

TEST(Table, TheWidestColumnGivesWayWhereNoneIsFlexible) {
  Table table({{"name", Align::kLeft}, {"text", Align::kLeft}});
  table.add_row({"n", "a text that is wider than the page"});
  EXPECT_EQ(printed(table, 30),
            "name  text\n"
            "n     a text ... than the page\n"
            "      a text that is wider\n"
            "      than the page\n");
}

TEST(Table, MissingCellsAreEmptyAndUntrustedOnesCleaned) {
  Table table({{"a", Align::kLeft}, {"b"}});
  table.add_row({"\x1b"});
  table.add_row({"x", "y"});
  EXPECT_EQ(printed(table, 40), "a     b\n\\x1b\nx     y\n");
}

TEST(Table, NotesStandBelowTheirRow) {
  Table table({{"a", Align::kLeft}});
  table.add_row({"1"});
  table.add_note("    words that go on below as far in");
  table.add_note("    code that goes on and on is cut", Style::kCode);
  table.add_row({"2"});
  table.add_note("");
  EXPECT_EQ(printed(table, 24),
            "a\n"
            "1\n"
            "    words that go on\n"
            "    below as far in\n"
            "    code that goes on...\n"
            "2\n"
            "\n");
}

TEST(Page, StylesAreSetAndResetOnEachLine) {
  Page page(12, true);
  page.line("plain");
  page.line("heading", Style::kHeading);
  page.line("note", Style::kNote);
  page.line("code", Style::kCode);
  page.line("warning", Style::kWarning);
  page.line("   ", Style::kWarning);
  page.blank();
  EXPECT_EQ(page.text(),
            "plain\n\x1b[1mheading\x1b[0m\n\x1b[2mnote\x1b[0m\n\x1b[36mcode\x1b[0m\n\x1b[33mwarning\x1b[0m\n\n\n");
  EXPECT_EQ(page.width(), 12u);
}

TEST(Page, LinesAreCutAndParagraphsWrapped) {
  Page page(12, false);
  page.line("exactly 12 c");
  page.line("more than that  ");
  page.line("ends here   ");
  page.paragraph("- ", "one two three four");
  page.paragraph("a label that is too long", "xy");
  EXPECT_EQ(page.text(),
            "exactly 12 c\nmore than...\nends here\n- one two\n  three four\na label t...\n           y\n");
}

}  // namespace
}  // namespace turnpike::report
