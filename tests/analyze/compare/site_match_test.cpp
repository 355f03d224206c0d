// Places found again across changed lines.
#include "analyze/compare/site_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/report_maker.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using Lines = std::vector<std::pair<int, int>>;  // before, after; 0: none

std::vector<Item> items(const std::vector<RowSpec>& specs) {
  std::vector<Site> sites;
  for (const RowSpec& spec : specs) sites.push_back(site_of(spec));
  return items_of(report_with(std::move(sites)), Unit::kStep);
}

Lines matched(const std::vector<RowSpec>& before, const std::vector<RowSpec>& after) {
  const auto items_before = items(before);
  const auto items_after = items(after);
  Lines lines;
  for (const Match& match : match_items(items_before, items_after)) {
    lines.push_back({match.before ? static_cast<int>(*items_before[*match.before].line) : 0,
                     match.after ? static_cast<int>(*items_after[*match.after].line) : 0});
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(SiteMatch, FindsALineThatMoved) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 34}}), ElementsAre(std::pair(30, 34)));
}

TEST(SiteMatch, KeepsTheOrderOfLinesThatAreAlike) {
  EXPECT_THAT(matched({{.line = 30}, {.line = 31}}, {{.line = 31}, {.line = 32}}),
              ElementsAre(std::pair(30, 31), std::pair(31, 32)));
}

TEST(SiteMatch, LeavesTheOneWithoutPartnerThatFitsWorst) {
  EXPECT_THAT(matched({{.line = 30, .bytes = 1000}, {.line = 31, .bytes = 8}},
                      {{.line = 33, .bytes = 1000}, {.line = 34, .bytes = 1'000'000}, {.line = 36, .bytes = 8}}),
              ElementsAre(std::pair(0, 34), std::pair(30, 33), std::pair(31, 36)));
  EXPECT_THAT(
      matched({{.line = 30, .bytes = 77}, {.line = 31, .bytes = 1'000'000}}, {{.line = 40, .bytes = 1'000'000}}),
      ElementsAre(std::pair(30, 0), std::pair(31, 40)));
}

TEST(SiteMatch, AmongEqualsTheLineDecides) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 20}, {.line = 30}, {.line = 40}}),
              ElementsAre(std::pair(0, 20), std::pair(0, 40), std::pair(30, 30)));
}

TEST(SiteMatch, FoldersDoNotMatter) {
  EXPECT_THAT(matched({{.line = 30, .file = "/home/me/train.py"}}, {{.line = 30, .file = "/ci/work/train.py"}}),
              ElementsAre(std::pair(30, 30)));
}

TEST(SiteMatch, ACopyFromPinnedMemoryIsTheSamePlace) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 31, .src_kind = "pinned"}}), ElementsAre(std::pair(30, 31)));
}

TEST(SiteMatch, AnotherOperatorOnTheSameLineIsTheSamePlace) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 30, .op = "aten::copy_"}}), ElementsAre(std::pair(30, 30)));
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 31, .op = "aten::copy_"}}),
              ElementsAre(std::pair(0, 31), std::pair(30, 0)));
}

TEST(SiteMatch, NeverAcrossFilesFunctionsOrDirections) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 30, .file = "/home/me/model.py"}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 0)));
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 30, .function = "evaluate"}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 0)));
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 30, .direction = Direction::kDeviceToHost}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 0)));
}

TEST(SiteMatch, ABackwardPassGoesByItsForwardLine) {
  std::vector<Item> before = items({{.line = 1, .direction = Direction::kMemset}});
  std::vector<Item> after = before;
  before[0].file = after[0].file = std::nullopt;
  before[0].forward_site = "model.py:30";
  after[0].forward_site = "model.py:34";
  EXPECT_EQ(match_items(before, after).size(), 1u);
  after[0].forward_site = "other.py:30";
  EXPECT_EQ(match_items(before, after).size(), 2u);
}

TEST(SiteMatch, OfNothingIsNothing) {
  EXPECT_THAT(matched({}, {}), ElementsAre());
  EXPECT_THAT(matched({{.line = 3}}, {}), ElementsAre(std::pair(3, 0)));
}

TEST(SiteMatch, ManyThatAreAlikeTakeNoQuadraticMemory) {
  std::vector<RowSpec> before(3000);
  std::vector<RowSpec> after(2999);
  for (std::uint32_t i = 0; i < before.size(); ++i) before[i].line = i + 1;
  for (std::uint32_t i = 0; i < after.size(); ++i) after[i].line = i + 1;
  const Lines lines = matched(before, after);
  EXPECT_EQ(lines.size(), 3000u);
  EXPECT_EQ(lines.back(), std::pair(3000, 0));
}

TEST(SiteMatch, CountsAndSizesWeighMoreThanTheLine) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 20}, {.line = 30, .per_step = 2, .bytes = 1000}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 20)));
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 20}, {.line = 30, .bytes = 1100}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 20)));
  // 4 copies of 250 bytes are less like 1 of 1000 than 2 of 1000 are.
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 20, .per_step = 4, .bytes = 250}, {.line = 40, .per_step = 2}}),
              ElementsAre(std::pair(0, 20), std::pair(30, 40)));
}

TEST(SiteMatch, TheSumOfAllPairsDecides) {
  // The first fits 20 best; but then nothing is left for the second but 40.
  EXPECT_THAT(matched({{.line = 1, .bytes = 100}, {.line = 2, .bytes = 200}},
                      {{.line = 10, .bytes = 90}, {.line = 20, .bytes = 110}, {.line = 40, .bytes = 9000}}),
              ElementsAre(std::pair(0, 40), std::pair(1, 10), std::pair(2, 20)));
  EXPECT_THAT(matched({{.line = 1, .bytes = 8}, {.line = 2, .bytes = 800}, {.line = 3, .bytes = 8}},
                      {{.line = 10, .bytes = 800}, {.line = 20, .bytes = 8}}),
              ElementsAre(std::pair(1, 0), std::pair(2, 10), std::pair(3, 20)));
}

TEST(SiteMatch, APhaseTellsPlacesApartUntilTheLineJoinsThem) {
  std::vector<Item> before = items({{.line = 30}});
  std::vector<Item> after = items({{.line = 30}});
  after[0].phase = Phase::kBackward;
  EXPECT_EQ(match_items(before, after).size(), 1u);
  after[0].line = 31;
  EXPECT_EQ(match_items(before, after).size(), 2u);
}

TEST(SiteMatch, AnExactPlaceIsTakenBeforeOneOfOtherMemory) {
  EXPECT_THAT(matched({{.line = 30}}, {{.line = 30, .src_kind = "pinned"}, {.line = 31}}),
              ElementsAre(std::pair(0, 30), std::pair(30, 31)));
}

TEST(SiteMatch, ANameWithoutALineIsAllFile) {
  std::vector<Item> before = items({{.line = 1}});
  before[0].file.reset();
  before[0].site = "copy (libx.so:y)";
  std::vector<Item> after = before;
  EXPECT_EQ(match_items(before, after).size(), 1u);
  after[0].site = "copy (libx.so:z)";
  EXPECT_EQ(match_items(before, after).size(), 2u);
  before[0].forward_site = "model.py:12";
  after[0].forward_site = "model.py:x";
  EXPECT_EQ(match_items(before, after).size(), 2u);
  after[0].forward_site = "model.py";
  EXPECT_EQ(match_items(before, after).size(), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
