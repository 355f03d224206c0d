// The text of rules: what it may say, and what is said of mistakes.
#include "guard/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::guard {
namespace {

using ::testing::HasSubstr;

Rule rule_of(const char* text, Kind kind) {
  const auto rules = parse_rules(text);
  EXPECT_TRUE(rules) << text;
  return rules->of(kind).value_or(Rule{});
}

std::string mistake_in(const char* text) {
  const auto rules = parse_rules(text);
  return rules ? "" : rules.error().message;
}

TEST(Rules, GiveEachKindALevel) {
  const auto rules = parse_rules("h2d=log, d2h = disallow\nsync=allow");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->of(Kind::kH2d)->level, Level::kLog);
  EXPECT_EQ(rules->of(Kind::kD2h)->level, Level::kDisallow);
  EXPECT_EQ(rules->of(Kind::kSync)->level, Level::kAllow);
  EXPECT_FALSE(rules->of(Kind::kPageable));
}

TEST(Rules, LimitByNumberOrSize) {
  EXPECT_EQ(rule_of("d2h=2", Kind::kD2h).most_count, 2u);
  EXPECT_EQ(rule_of("d2h=2", Kind::kD2h).most_bytes, UINT64_MAX);
  EXPECT_EQ(rule_of("d2h=16 MB", Kind::kD2h).most_bytes, 16'000'000u);
  EXPECT_EQ(rule_of("d2h=0", Kind::kD2h).level, Level::kLimit);
}

TEST(Rules, AllowSitesForAllKindsOrOne) {
  const auto rules = parse_rules("d2h=disallow,allow=checkpoint.py:*,allow=d2h train.py:80");
  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->allowances.size(), 2u);
  EXPECT_EQ(rules->allowances[0].site, "checkpoint.py:*");
  EXPECT_TRUE(rules->allowances[0].kinds.has(Kind::kSync));
  EXPECT_EQ(rules->allowances[1].site, "train.py:80");
  EXPECT_TRUE(rules->allowances[1].kinds.has(Kind::kD2h));
  EXPECT_FALSE(rules->allowances[1].kinds.has(Kind::kSync));
}

TEST(Rules, SwitchWhatPyTorchDoesForItself) {
  const auto rules = parse_rules("capture=allow,compile=disallow,skip=3");
  ASSERT_TRUE(rules);
  EXPECT_FALSE(rules->guards_capture);
  EXPECT_TRUE(rules->guards_compile);
  EXPECT_EQ(rules->skip, 3u);
}

TEST(Rules, GuardThreadsAndMovesWhereTheyAreTold) {
  const auto silent = parse_rules("d2h=log");
  EXPECT_FALSE(silent->threads);
  EXPECT_FALSE(silent->guards_moves);
  const auto rules = parse_rules("threads=all,moves=disallow");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->threads, Threads::kAll);
  EXPECT_TRUE(rules->guards_moves);
  EXPECT_EQ(parse_rules("threads=own")->threads, Threads::kOnlyOwn);
}

TEST(Rules, OnlyLogRepeats) {
  EXPECT_EQ(rule_of("repeat=log", Kind::kRepeat).level, Level::kLog);
  EXPECT_EQ(rule_of("repeat=allow", Kind::kRepeat).level, Level::kAllow);
  for (const char* text : {"repeat=disallow", "repeat=2", "repeat=1 MB"}) {
    EXPECT_THAT(mistake_in(text), HasSubstr("is neither allow nor log: repeats are only logged")) << text;
  }
}

TEST(Rules, SayWhatIsWrong) {
  EXPECT_THAT(mistake_in("d2h"), HasSubstr("has no \"=\""));
  EXPECT_THAT(mistake_in("d2x=log"), HasSubstr("there is no key \"d2x\""));
  EXPECT_THAT(mistake_in("d2h=forbid"), HasSubstr("d2h: \"forbid\" is neither allow, log, disallow"));
  EXPECT_THAT(mistake_in("sync=3 MB"), HasSubstr("a wait has no size"));
  EXPECT_THAT(mistake_in("skip=many"), HasSubstr("skip: \"many\" is no number"));
  EXPECT_THAT(mistake_in("capture=log"), HasSubstr("neither disallow nor allow"));
  EXPECT_THAT(mistake_in("allow="), HasSubstr("allow needs a site"));
  EXPECT_THAT(mistake_in("threads=some"), HasSubstr("threads: \"some\" is neither all nor own"));
  EXPECT_THAT(mistake_in("moves=log"), HasSubstr("moves: \"log\" is neither disallow nor allow"));
}

}  // namespace
}  // namespace turnpike::guard
