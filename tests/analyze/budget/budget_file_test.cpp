// Budgets: what they mean, and what is said of those that mean nothing.
#include "analyze/budget/budget_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
  EXPECT_THAT(budget->bound_by->value, ElementsAre(Bound::kGpu, Bound::kLaunch));
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
  EXPECT_THAT(mistake_in("[losses]\nallow = true\n"), HasSubstr("sets no limit"));
  EXPECT_THAT(mistake_in("[findings]\nforbid = []\n"), HasSubstr("sets no limit"));
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

constexpr const char* kKnownInUnit =
    "Known are count, bytes, blocked, exposed, syncs, pageable and duration; h2d_, d2h_, d2d_, p2p_, h2h_ or memset_ before the "
    "first four limits one direction.";

TEST(BudgetFile, SaysWhatIsKnownWhereSomethingIsNot) {
  EXPECT_EQ(mistake_in("[per_run]\nh2dcount = 1\n"),
            std::string("b.toml:2:1: unknown key \"h2dcount\" in [per_run]. ") + kKnownInUnit);
  EXPECT_EQ(mistake_in("[per_step]\nh2d = 1\n"),
            std::string("b.toml:2:1: unknown key \"h2d\" in [per_step]. ") + kKnownInUnit);
  EXPECT_EQ(mistake_in("[per_step]\nh2d_d2h_count = 1\n"),
            std::string("b.toml:2:1: unknown key \"h2d_d2h_count\" in [per_step]. ") + kKnownInUnit);
  EXPECT_EQ(mistake_in("[verdict]\nmax_idle = 1\n"),
            "b.toml:2:1: unknown key \"max_idle\" in [verdict]. Known are bound_by, max_exposed_transfer_pct and "
            "max_gpu_idle_pct.");
  EXPECT_EQ(mistake_in("[findings]\nallow = 1\n"),
            "b.toml:2:1: unknown key \"allow\" in [findings]. Known are forbid, max_saving_pct and optional.");
  EXPECT_EQ(mistake_in("[losses]\nforbid = 1\n"), "b.toml:2:1: unknown key \"forbid\" in [losses]. Known is allow.");
  EXPECT_EQ(mistake_in("[[limit]]\nsite = \"a\"\ncount = 1\nduration = \"1 s\"\n"),
            "b.toml:4:1: unknown key \"duration\" in [[limit]]. Known are site, direction, per, optional, reason, "
            "count, bytes, blocked, exposed, syncs and pageable.");
  EXPECT_EQ(mistake_in("[[limit]]\nsite = \"a\"\nh2d_count = 1\nbytes = 2\n"),
            "b.toml:3:1: unknown key \"h2d_count\" in [[limit]]. Known are site, direction, per, optional, reason, "
            "count, bytes, blocked, exposed, syncs and pageable.");
  EXPECT_EQ(mistake_in("[[allow]]\nsite = \"a\"\ncount = 1\n"),
            "b.toml:3:1: unknown key \"count\" in [[allow]]. Known are site, direction, optional and reason.");
  EXPECT_EQ(mistake_in("[verdict]\nbound_by = [\"gpu\", \"cpu\"]\n"),
            "b.toml:2:12: \"bound_by\" lists the verdicts that are fine; \"cpu\" is none. Known are gpu, transfer, "
            "sync, launch, input, host, communication, unrecorded and mixed.");
  EXPECT_THAT(mistake_in("[losses]\nallow = [\"cupti_droped\"]\n"),
              AllOf(HasSubstr("b.toml:2:9: there is no loss \"cupti_droped\". Known are unreadable_file, "),
                    HasSubstr("cupti_dropped")));
}

TEST(BudgetFile, RejectsValuesOfTheWrongKind) {
  EXPECT_EQ(mistake_in("[[allow]]\nsite = 3\n[per_step]\ncount = 1\n"),
            "b.toml:2:8: \"site\" is a text, like \"train.py:80\".");
  EXPECT_EQ(mistake_in("[[allow]]\nsite = \"\"\n[per_step]\ncount = 1\n"),
            "b.toml:2:8: \"site\" is a text, like \"train.py:80\".");
  EXPECT_EQ(mistake_in("[[allow]]\nsite = \"a\"\noptional = 1\n[per_step]\ncount = 1\n"),
            "b.toml:3:12: \"optional\" is true or false.");
  EXPECT_EQ(mistake_in("[findings]\nforbid = [\"a\", 3]\n"),
            "b.toml:2:10: \"forbid\" is a list of texts, like [\"one\", \"other\"].");
  EXPECT_EQ(mistake_in("[findings]\nforbid = 3\n"),
            "b.toml:2:10: \"forbid\" is a list of texts, like [\"one\", \"other\"].");
  EXPECT_EQ(mistake_in("[findings]\nmax_saving_pct = -0.1\n"),
            "b.toml:2:18: \"max_saving_pct\" is a number of per cent, from 0 to 100.");
  EXPECT_EQ(mistake_in("[per_step]\nbytes = -1\n"), "b.toml:2:9: \"bytes\" is written with its unit, like \"12 MB\".");
  EXPECT_EQ(mistake_in("[per_step]\ncount = inf\n"), "b.toml:2:9: \"count\" is a number from 0 on, like 4 or 0.5.");
  EXPECT_EQ(mistake_in("[per_step]\nbytes = \"12 MX\"\n"),
            "b.toml:2:9: \"bytes\" = \"12 MX\" has an unknown unit; known are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.");
  EXPECT_EQ(mistake_in("verdict = 1\n"), "b.toml:1:11: \"verdict\" is a table: write [verdict] and its keys below.");
  EXPECT_EQ(mistake_in("findings = 1\n"), "b.toml:1:12: \"findings\" is a table: write [findings] and its keys below.");
  EXPECT_EQ(mistake_in("losses = 1\n"), "b.toml:1:10: \"losses\" is a table: write [losses] and its keys below.");
  EXPECT_EQ(mistake_in("\"a\\u0001\\u001fb\" = 1\n").substr(0, 46),
            "b.toml:1:1: unknown table or key \"a\\x01\\x1fb\".");
}

TEST(BudgetFile, TakesWhatIsJustPossible) {
  const auto limit_of = [](const std::string& line) {
    const auto budget = parse_budget("[per_step]\n" + line + "\n", "b.toml");
    EXPECT_TRUE(budget) << (budget ? "" : budget.error().message);
    return budget ? budget->limits.at(0) : Limit{};
  };
  EXPECT_EQ(limit_of("blocked = 0").most, 0);  // nothing is nothing in any unit
  EXPECT_EQ(limit_of("bytes = 12").most, 12);
  EXPECT_EQ(limit_of("count = 0.5").most, 0.5);
  EXPECT_EQ(limit_of("count = 0").most, 0);
  const std::pair<const char*, Direction> directions[] = {
      {"h2d", Direction::kHostToDevice}, {"d2h", Direction::kDeviceToHost}, {"d2d", Direction::kDeviceToDevice},
      {"p2p", Direction::kPeerToPeer},   {"h2h", Direction::kHostToHost},   {"memset", Direction::kMemset}};
  for (const auto& [name, direction] : directions) {
    EXPECT_EQ(limit_of(std::string(name) + "_count = 1").direction, direction);
    EXPECT_EQ(limit_of(std::string(name) + "_bytes = 1").measure, Measure::kBytes);
    EXPECT_EQ(limit_of(std::string(name) + "_blocked = 0").measure, Measure::kBlocked);
    EXPECT_EQ(limit_of(std::string(name) + "_exposed = 0").measure, Measure::kExposed);
  }
  const auto budget = parse_budget("[verdict]\nmax_gpu_idle_pct = 100\nmax_exposed_transfer_pct = 0\n", "b.toml");
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->max_gpu_idle_pct->value, 100);
  EXPECT_EQ(budget->max_gpu_idle_pct->line, 2u);
  EXPECT_EQ(budget->max_exposed_transfer_pct->value, 0);
  EXPECT_EQ(budget->max_exposed_transfer_pct->line, 3u);
}

TEST(BudgetFile, ReadsAllOfAPlace) {
  const auto budget = parse_budget(R"(
[[limit]]
site = "a.py:1"
syncs = 2
[[limit]]
site = "b.py"
direction = "p2p"
per = "run"
optional = true
reason = "why"
exposed = "2 us"
[[allow]]
site = "c.py"
direction = "memset"
optional = true
[findings]
forbid = "late_loader"
optional = true
[losses]
allow = ["loss_12", "unreadable_file"]
)",
                                   "b.toml");
  ASSERT_TRUE(budget) << budget.error().message;
  ASSERT_THAT(budget->limits, SizeIs(2));
  EXPECT_EQ(budget->limits[0].name, "limit 1 (a.py:1): syncs");
  EXPECT_EQ(budget->limits[0].unit, Unit::kStep);
  EXPECT_FALSE(budget->limits[0].is_optional);
  EXPECT_EQ(budget->limits[1].name, "limit 2 (b.py): exposed");
  EXPECT_EQ(budget->limits[1].unit, Unit::kRun);
  EXPECT_EQ(budget->limits[1].direction, Direction::kPeerToPeer);
  EXPECT_EQ(budget->limits[1].most, 2000);
  EXPECT_EQ(budget->limits[1].line, 11u);
  EXPECT_TRUE(budget->limits[1].is_optional);
  EXPECT_EQ(budget->allowances.at(0).direction, Direction::kMemset);
  EXPECT_TRUE(budget->allowances.at(0).is_optional);
  EXPECT_EQ(budget->allowances.at(0).line, 12u);
  EXPECT_THAT(budget->forbidden_findings->value, ElementsAre("late_loader"));
  EXPECT_TRUE(budget->are_findings_optional);
  EXPECT_EQ(budget->losses_line, 20u);
  EXPECT_FALSE(budget->are_losses_allowed);
  EXPECT_THAT(budget->allowed_losses, ElementsAre("loss_12", "unreadable_file"));
  EXPECT_THAT(mistake_in("[losses]\nallow = [\"loss_1x\"]\n"), HasSubstr("there is no loss \"loss_1x\""));
}

TEST(BudgetFile, AnyTableButAllowancesIsALimit) {
  for (const char* text : {"[verdict]\nbound_by = \"gpu\"\n", "[verdict]\nmax_exposed_transfer_pct = 1\n",
                           "[verdict]\nmax_gpu_idle_pct = 1\n", "[findings]\nforbid = [\"implicit_sync\"]\n",
                           "[findings]\nmax_saving_pct = 1\n", "[losses]\nallow = false\n"}) {
    EXPECT_EQ(mistake_in(text), "no mistake") << text;
  }
}

TEST(BudgetFile, RulesOfTheGuardAreKeptAndLimitNothing) {
  const auto budget = parse_budget("[per_run]\nh2d_count = 1\n[guard]\nd2h = \"disallow\"\nsync = 2\n", "b.toml");
  ASSERT_TRUE(budget) << budget.error().message;
  EXPECT_EQ(budget->guard_rules, "d2h=disallow\nsync=2\n");
  EXPECT_THAT(budget->limits, SizeIs(1));
  EXPECT_THAT(mistake_in("[guard]\nd2h = \"disallow\"\n"), HasSubstr("sets no limit"));
  EXPECT_THAT(mistake_in("[guard]\nd2x = 1\n"), HasSubstr("unknown key \"d2x\" in [guard]"));
  EXPECT_THAT(mistake_in("[guard]\nd2h = true\n"), HasSubstr("\"allow\", \"log\", \"disallow\""));
}

TEST(BudgetFile, TheGuardReadsItsRulesAndTheSites) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "guard_rules.toml";
  std::ofstream(path) << "[guard]\nd2h = \"1 MB\"\n[[allow]]\nsite = \"a.py\"\n"
                         "[[allow]]\nsite = \"b.py:f\"\ndirection = \"d2h\"\n"
                         "[[allow]]\nsite = \"c.py\"\ndirection = \"memset\"\n";
  const auto rules = read_guard_rules(path);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(*rules, "d2h=1 MB\nallow=a.py\nallow=d2h b.py:f\n");
  std::ofstream(path) << "[per_run]\nh2d_count = 1\n";
  EXPECT_THAT(read_guard_rules(path).error().message, HasSubstr("there is no table [guard]"));
  EXPECT_THAT(read_guard_rules(path / "missing").error().message, HasSubstr("cannot be read"));
}

TEST(BudgetFile, TwentyMistakesAreAllSaid) {
  std::string text = "[per_step]\n";
  for (int i = 0; i < 20; ++i) text += "wrong_" + std::to_string(i) + " = 1\n";
  EXPECT_THAT(mistake_in(text), AllOf(HasSubstr("b.toml:21:1"), ::testing::Not(HasSubstr("more."))));
}

TEST(BudgetFile, ALineMayHaveTwentyDots) {
  const auto dotted = [](int dots) {
    std::string key;
    for (int i = 0; i < dots; ++i) key += "a.";
    return mistake_in("\"x.y\" = 'q.#' # ...\n" + key + "b = 1\n");
  };
  EXPECT_THAT(dotted(20), HasSubstr("unknown table or key"));
  EXPECT_EQ(dotted(21), "b.toml:2: so many dots have no place in a line of a budget.");
  // A quote that is escaped does not end a text.
  EXPECT_THAT(mistake_in("a = \"\\\".....................\"\n"), HasSubstr("unknown table or key"));
}

}  // namespace
}  // namespace turnpike::analyze
