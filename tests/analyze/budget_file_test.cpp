// Budgets: what they mean, and what is said of those that mean nothing.
#include "analyze/budget_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string mistake_in(std::string_view text) {
  const auto budget = parse_budget(text, "b.toml");
  return budget ? "no mistake" : budget.error().message;
}

TEST(BudgetFile, ReadsEveryTable) {
  const auto budget = parse_budget(R"(
[per_step]
h2d_count = 4
h2d_bytes = "12 MB"
blocked = "0.2 ms"
syncs = 1.5
[per_run]
duration = "3 s"
[[allow]]
site = "train.py:80"
reason = "checkpoint"
[[limit]]
site = "model.py:*"
direction = "d2h"
count = 0
bytes = 0
[verdict]
bound_by = ["gpu", "launch"]
max_exposed_transfer_pct = 5
max_gpu_idle_pct = 40.5
[findings]
forbid = ["implicit_*"]
max_saving_pct = 3
[losses]
allow = ["stack_truncated"]
)",
                                   "b.toml");
  ASSERT_TRUE(budget) << budget.error().message;
  ASSERT_THAT(budget->limits, SizeIs(7));
  const auto find = [&](const std::string& name) {
    for (const Limit& limit : budget->limits) {
      if (limit.name == name) return limit;
    }
    ADD_FAILURE() << name;
    return Limit{};
  };
  EXPECT_EQ(find("per_step.h2d_bytes").most, 12e6);
  EXPECT_EQ(find("per_step.h2d_bytes").line, 4u);
  EXPECT_EQ(find("per_step.h2d_bytes").direction, Direction::kHostToDevice);
  EXPECT_EQ(find("per_step.blocked").most, 200'000);
  EXPECT_EQ(find("per_step.blocked").direction, std::nullopt);
  EXPECT_EQ(find("per_step.syncs").measure, Measure::kSyncs);
  EXPECT_EQ(find("per_run.duration").unit, Unit::kRun);
  const Limit place = find("limit 1 (model.py:*): count");
  EXPECT_EQ(place.site, "model.py:*");
  EXPECT_EQ(place.direction, Direction::kDeviceToHost);
  EXPECT_EQ(place.unit, Unit::kStep);
  ASSERT_THAT(budget->allowances, SizeIs(1));
  EXPECT_EQ(budget->allowances[0].reason, "checkpoint");
  EXPECT_THAT(budget->bound_by->value, ElementsAre("gpu", "launch"));
  EXPECT_EQ(budget->max_gpu_idle_pct->value, 40.5);
  EXPECT_THAT(budget->forbidden_findings->value, ElementsAre("implicit_*"));
  EXPECT_EQ(budget->max_saving_pct->line, 23u);
  EXPECT_THAT(budget->allowed_losses, ElementsAre("stack_truncated"));
}

TEST(BudgetFile, NamesThePlaceOfEachMistakeInOrder) {
  EXPECT_EQ(mistake_in("[per_step]\nh2d_cuont = 3\n[verdict]\nbound_by = \"gpus\"\n").find("b.toml:2:1: unknown key"),
            0u);
  EXPECT_THAT(mistake_in("[per_step]\nh2d_cuont = 3\nd2h_bytes = \"1 XB\"\n"),
              AllOf(HasSubstr("b.toml:2:1: "), HasSubstr("\nb.toml:3:13: ")));
}

TEST(BudgetFile, RejectsUnknownTablesKeysAndWords) {
  EXPECT_THAT(mistake_in("[per_stpe]\ncount = 1\n"), HasSubstr("1:"));
  EXPECT_THAT(mistake_in("[per_stpe]\ncount = 1\n"), HasSubstr("unknown table or key \"per_stpe\""));
  EXPECT_THAT(mistake_in("h2d_count = 1\n"), HasSubstr("unknown table or key \"h2d_count\""));
  EXPECT_THAT(mistake_in("[per_step]\nduration_count = 1\n"), HasSubstr("unknown key"));
  EXPECT_THAT(mistake_in("[per_step]\nh2d_syncs = 1\n"), HasSubstr("unknown key"));
  EXPECT_THAT(mistake_in("[[limit]]\nsite = \"a\"\ncount = 1\nper = \"epoch\"\n"), HasSubstr("\"step\" or \"run\""));
  EXPECT_THAT(mistake_in("[[limit]]\nsite = \"a\"\ncount = 1\ndirection = \"up\"\n"), HasSubstr("h2d, d2h"));
  EXPECT_THAT(mistake_in("[[limit]]\nsite = \"a\"\nsyncs = 1\ndirection = \"d2h\"\n"), HasSubstr("no direction"));
  EXPECT_THAT(mistake_in("[verdict]\nbound_by = []\n"), HasSubstr("every run would fail"));
  EXPECT_THAT(mistake_in("[losses]\nallow = 3\n"), HasSubstr("true, false, or a list"));
}

TEST(BudgetFile, RejectsWrongTypesAndUnits) {
  EXPECT_THAT(mistake_in("[per_step]\ncount = \"4\"\n"), HasSubstr("2:9: \"count\" is a number"));
  EXPECT_THAT(mistake_in("[per_step]\ncount = -1\n"), HasSubstr("from 0 on"));
  EXPECT_THAT(mistake_in("[per_step]\ncount = nan\n"), HasSubstr("from 0 on"));
  EXPECT_THAT(mistake_in("[per_step]\nblocked = 3\n"), HasSubstr("with its unit, like \"0.2 ms\""));
  EXPECT_THAT(mistake_in("[per_step]\nblocked = \"3 MB\"\n"), HasSubstr("unknown unit"));
  EXPECT_THAT(mistake_in("[verdict]\nmax_gpu_idle_pct = 101\n"), HasSubstr("from 0 to 100"));
  EXPECT_THAT(mistake_in("per_step = 3\n"), HasSubstr("write [per_step]"));
  EXPECT_THAT(mistake_in("[limit]\nsite = \"a\"\ncount = 1\n"), HasSubstr("[[limit]] in double brackets"));
  EXPECT_THAT(mistake_in("allow = [1]\n"), HasSubstr("[[allow]] in double brackets"));
}

TEST(BudgetFile, RejectsPlacesWithoutNameOrLimit) {
  EXPECT_THAT(mistake_in("[[limit]]\ncount = 1\n"), HasSubstr("names no place"));
  EXPECT_THAT(mistake_in("[[limit]]\nsite = \"a.py\"\n"), HasSubstr("limits nothing"));
  EXPECT_THAT(mistake_in("[[allow]]\nreason = \"x\"\n"), HasSubstr("names no place"));
}

TEST(BudgetFile, RejectsAFileThatCannotFail) {
  EXPECT_THAT(mistake_in(""), HasSubstr("sets no limit"));
  EXPECT_THAT(mistake_in("[[allow]]\nsite = \"a.py\"\n"), HasSubstr("sets no limit"));
}

TEST(BudgetFile, RejectsWhatIsNoToml) {
  EXPECT_THAT(mistake_in("[per_step\n"), HasSubstr("b.toml:1:10: not TOML"));
  EXPECT_THAT(mistake_in("[per_step]\ncount = 1\ncount = 2\n"), HasSubstr("not TOML"));
  EXPECT_THAT(mistake_in(std::string_view("\0\xff\xfe\x7f", 4)), HasSubstr("not TOML"));
  EXPECT_THAT(mistake_in("a = " + std::string(100'000, '[')), HasSubstr("not TOML"));
  EXPECT_THAT(mistake_in(std::string(10'000'000, '#')), HasSubstr("larger than 1000000 bytes"));
}

TEST(BudgetFile, RejectsWhatWouldOverflowTheStack) {
  std::string dots;
  for (int i = 0; i < 400'000; ++i) dots += "a.";
  EXPECT_THAT(mistake_in("\n[" + dots + "b]\n"), HasSubstr("b.toml:2: so many dots"));
  EXPECT_THAT(mistake_in(dots + "b = 1\n"), HasSubstr("b.toml:1: so many dots"));
  EXPECT_THAT(mistake_in("x = { s = \"\"\"\n'\"\"\", " + dots + "b = 1 }\n"), HasSubstr("three quotes"));
  // Dots of texts and comments are no keys.
  EXPECT_TRUE(parse_budget(
      "[per_step]\ncount = 1 # " + dots.substr(0, 1000) + "\n[[allow]]\nsite = \"" + dots.substr(0, 1000) + "\"\n",
      "b.toml"));
}

TEST(BudgetFile, SaysTwentyMistakesAndHowManyMore) {
  std::string text = "[per_step]\n";
  for (int i = 0; i < 25; ++i) text += "wrong_" + std::to_string(i) + " = 1\n";
  EXPECT_THAT(mistake_in(text), AllOf(HasSubstr("b.toml:21:1"), HasSubstr("\nand 5 more.")));
}

TEST(BudgetFile, AMissingFileOrAFolderIsSaid) {
  EXPECT_THAT(read_budget("/no/such/turnpike.toml").error().message, HasSubstr("cannot be read"));
  EXPECT_THAT(read_budget("/tmp").error().message, HasSubstr("is a folder"));
}

}  // namespace
}  // namespace turnpike::analyze
