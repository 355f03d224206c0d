// The result of a check for people, for CI and for other programs.
#include "report/text/check_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyze/budget/budget_file.h"
#include "analyze/report_maker.h"
#include "report/ci/github.h"
#include "report/ci/sarif.h"
#include "report/golden.h"
#include "report/json/check_json.h"
#include "report/sample_report.h"
#include "report/text/budget_text.h"
#include "report/text/text_width.h"
#include "trace/losses.h"

namespace turnpike::report {
namespace {

namespace fs = std::filesystem;

using analyze::report_with;
using analyze::site_of;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Checked {
  analyze::Report report;
  analyze::Budget budget;
  analyze::CheckResult result;
};

Checked checked(analyze::Report report, const std::string& budget) {
  auto parsed = analyze::parse_budget(budget, "turnpike.toml");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  auto result = analyze::check(report, *parsed);
  return {std::move(report), std::move(*parsed), std::move(result)};
}

analyze::Report ordinary(const std::string& file = "/home/me/train.py") {
  return report_with({site_of({.line = 30, .bytes = 200'000, .blocked_ns = 90'000, .file = file}),
                      site_of({.line = 40, .bytes = 4, .direction = analyze::Direction::kDeviceToHost, .file = file})});
}

constexpr const char* kBudget = R"([per_step]
h2d_count = 1
h2d_bytes = "100 kB"
d2h_count = 0
blocked = "0.5 ms"
[verdict]
bound_by = ["gpu"]
max_exposed_transfer_pct = 6.5
[[allow]]
site = "gone.py"
optional = true
[findings]
forbid = ["*"]
)";

std::string text_of(const Checked& checked, std::size_t width = 100) {
  return to_text(checked.result, checked.report, checked.budget, {.width = width});
}

// A folder with a repository's files, removed at the end.
class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("check_" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / "src");
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void add(const std::string& name) const { std::ofstream(path_ / name) << "x\n"; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(CheckText, ShowsEachLimitAndWhatBrokeIt) {
  expect_golden(text_of(checked(ordinary(), kBudget)), "check_failed.txt");
}

TEST(CheckText, ShowsThatAllIsKept) {
  expect_golden(text_of(checked(ordinary(), "[per_step]\nh2d_count = 2\nblocked = \"1 s\"\n")), "check_passed.txt");
}

TEST(CheckText, SaysWhatToDoWithoutSteps) {
  analyze::Report report = ordinary();
  report.steps.reset();
  expect_golden(text_of(checked(report, "[per_step]\nh2d_count = 2\n")), "check_no_steps.txt");
}

TEST(CheckText, NeverWiderThanItsWidthWhateverTheNames) {
  const Checked hostile = checked(hostile_report(), "[per_run]\ncount = 0\nblocked = 0\n[verdict]\nbound_by=\"gpu\"\n");
  for (const std::size_t width : {60u, 100u}) {
    std::istringstream stream(text_of(hostile, width));
    for (std::string line; std::getline(stream, line);) {
      EXPECT_LE(display_width(line), width) << line;
      EXPECT_EQ(cleaned(line), line);
    }
  }
}

TEST(CheckJson, IsTheWholeResult) {
  const Checked all = checked(ordinary(), kBudget);
  const auto json = nlohmann::json::parse(to_json(all.result, all.report, all.budget));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["limits"][1]["limit"], "per_step.h2d_bytes");
  EXPECT_EQ(json["limits"][1]["outcome"], "exceeded");
  EXPECT_EQ(json["limits"][1]["measured"], 200'000);
  EXPECT_EQ(json["limits"][1]["allowed"], 100'000);
  EXPECT_EQ(json["limits"][1]["budget_line"], 3);
  EXPECT_EQ(json["limits"][1]["sites"][0]["site"], "train.py:30");
  EXPECT_EQ(json["limits"][4]["measured"], "sync");
}

TEST(CheckJson, OfHostileNamesIsValid) {
  const Checked hostile = checked(hostile_report(), "[per_run]\ncount = 0\n");
  EXPECT_TRUE(nlohmann::json::accept(to_json(hostile.result, hostile.report, hostile.budget)));
}

TEST(Github, IsOneCommandForEachBreach) {
  const Folder folder;
  folder.add("train.py");
  const Checked all =
      checked(ordinary((folder.path() / "train.py").string()), "[per_step]\nd2h_count = 0\nh2d_count = 1\n");
  EXPECT_EQ(to_github(all.result, all.budget, Repository(folder.path())),
            "::error file=train.py,line=40,title=turnpike check%3A per_step.d2h_count::per_step.d2h_count: 1, allowed: "
            "at most 0. 1 at train.py:40 (GPU > CPU, aten::to in train).\n");
}

TEST(Github, FindsFilesThatWereRecordedElsewhere) {
  const Folder folder;
  folder.add("src/train.py");
  const Checked all = checked(ordinary("/build/agent7/src/train.py"), "[per_step]\nd2h_count = 0\n");
  EXPECT_THAT(to_github(all.result, all.budget, Repository(folder.path())),
              StartsWith("::error file=src/train.py,line=40,"));
}

TEST(Github, TheCallerOfALibraryIsShown) {
  const Folder folder;
  folder.add("train.py");
  analyze::Report report = ordinary("/usr/lib/python3/site-packages/torch/optim/adam.py");
  for (analyze::Site& site : report.sites) {
    site.stack = {"step (/usr/lib/python3/site-packages/torch/optim/adam.py:40)", "main (/ci/train.py:7)"};
  }
  const Checked all = checked(report, "[per_step]\nd2h_count = 0\n");
  EXPECT_THAT(to_github(all.result, all.budget, Repository(folder.path())),
              StartsWith("::error file=train.py,line=7,"));
}

TEST(Github, WhatHasNoPlaceHasNoFile) {
  const Checked all = checked(report_with({}), "[verdict]\nbound_by = \"gpu\"\n");
  EXPECT_THAT(to_github(all.result, all.budget, Repository("/no/such/folder")),
              StartsWith("::error title=turnpike check%3A verdict.bound_by::"));
}

TEST(Github, NamesCanNeitherEndACommandNorBeginOne) {
  const Folder folder;
  const std::string name = "a,b:c%\r\n::error::d.py";
  folder.add(name);
  analyze::Report report = ordinary((folder.path() / name).string());
  for (analyze::Site& site : report.sites) site.site = site.function.emplace(name);
  const Checked all = checked(report, "[per_step]\nd2h_count = 0\n");
  const std::string text = to_github(all.result, all.budget, Repository(folder.path()));
  EXPECT_THAT(text, StartsWith("::error file=a%2Cb%3Ac%25%0D%0A%3A%3Aerror%3A%3Ad.py,line=40,title="));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, EndsWith("\n"));
}

TEST(Sarif, HasWhatTheSchemaWants) {
  const Folder folder;
  folder.add("src/train me.py");
  const Checked all = checked(ordinary("/x/src/train me.py"), kBudget);
  const auto json = nlohmann::json::parse(to_sarif(all.result, all.budget, Repository(folder.path())));
  EXPECT_EQ(json["version"], "2.1.0");
  ASSERT_EQ(json["runs"].size(), 1u);
  const auto& driver = json["runs"][0]["tool"]["driver"];
  EXPECT_EQ(driver["name"], "turnpike");
  const auto& results = json["runs"][0]["results"];
  ASSERT_EQ(results.size(), 3u);
  for (const auto& result : results) {
    EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
  }
  const auto& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "src/train%20me.py");
  EXPECT_EQ(place["region"]["startLine"], 30);
  EXPECT_EQ(results[0]["relatedLocations"][0]["physicalLocation"], place);
}

TEST(Sarif, OfHostileNamesIsValid) {
  const Checked hostile = checked(hostile_report(), "[per_run]\ncount = 0\n");
  EXPECT_TRUE(nlohmann::json::accept(to_sarif(hostile.result, hostile.budget, Repository("/"))));
}

TEST(Sarif, OfARunThatPassesHasNoResults) {
  const Checked all = checked(ordinary(), "[per_step]\nh2d_count = 2\n");
  const auto json = nlohmann::json::parse(to_sarif(all.result, all.budget, Repository("/")));
  EXPECT_TRUE(json["runs"][0]["results"].is_array());
  EXPECT_TRUE(json["runs"][0]["results"].empty());
}

TEST(BudgetText, IsKeptByTheRunItWasMadeFrom) {
  for (analyze::Report report : {ordinary(), report_with({}), ordinary_report(), hostile_report(), analyze::Report{}}) {
    const std::string text = budget_for(report, "train.tpk");
    const auto budget = analyze::parse_budget(text, "turnpike.toml");
    ASSERT_TRUE(budget) << budget.error().message << "\n" << text;
    for (const analyze::LimitResult& limit : analyze::check(report, *budget).limits) {
      if (limit.name == "losses.allow" && !report.source.unusable.empty()) continue;
      if (limit.name == "recording") continue;  // of a run that holds nothing, which keeps to no budget
      EXPECT_EQ(limit.outcome, analyze::Outcome::kWithin) << limit.name << "\n" << text;
    }
  }
}

TEST(BudgetText, AllowsNoLossThatMakesARunIncomplete) {
  analyze::Report report = ordinary();
  for (const trace::LossInfo& loss : trace::all_losses()) report.losses[std::string(loss.name)] = 1;
  report.losses[analyze::kUnreadableFile] = 1;
  report.losses["loss_999"] = 1;
  for (const bool is_usable : {true, false}) {
    report.source.unusable = is_usable ? std::vector<std::string>{} : std::vector<std::string>{"no CUPTI"};
    const auto budget = analyze::parse_budget(budget_for(report, "train.tpk"), "turnpike.toml");
    ASSERT_TRUE(budget);
    EXPECT_FALSE(budget->are_losses_allowed);
    EXPECT_FALSE(budget->allowed_losses.empty());
    for (const std::string& name : budget->allowed_losses) {
      const trace::LossInfo* const loss = trace::find_loss(name);
      EXPECT_TRUE(loss != nullptr && loss->effect != trace::LossEffect::kIncomplete) << name;
    }
  }
}

TEST(BudgetText, WhatItSuggestsCanBeSwitchedOn) {
  std::istringstream stream(budget_for(ordinary(), "train.tpk"));
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    const bool is_suggestion =
        line.starts_with("# [") || (line.starts_with("# ") && line.find(" = ") != std::string::npos);
    text += (is_suggestion ? line.substr(2) : line) + "\n";
  }
  const auto budget = analyze::parse_budget(text, "turnpike.toml");
  ASSERT_TRUE(budget) << budget.error().message << "\n" << text;
  EXPECT_TRUE(budget->bound_by && budget->max_saving_pct && budget->forbidden_findings);
  EXPECT_EQ(budget->allowances.size(), 1u);
}

TEST(BudgetText, FailsWhenTheRunGetsWorse) {
  const auto budget = analyze::parse_budget(budget_for(ordinary(), "train.tpk"), "turnpike.toml");
  ASSERT_TRUE(budget);
  analyze::Report worse = ordinary();
  worse.sites.push_back(site_of({.line = 99, .bytes = 8, .direction = analyze::Direction::kDeviceToHost}));
  EXPECT_FALSE(analyze::check(worse, *budget).is_passed());
}

// A breach at two lines, of which the library's is not in the repository, and one that is nowhere.
TEST(Sarif, IsWhatTheFileSays) {
  const Folder folder;
  folder.add("src/train me.py");
  folder.add("src/eval~\xc3\xa9.py");
  folder.add("turnpike.toml");
  analyze::Report report = report_with({site_of({.line = 30, .per_step = 3, .file = "/x/src/train me.py"}),
                                        site_of({.line = 40, .per_step = 2, .file = "/x/src/eval~\xc3\xa9.py"}),
                                        site_of({.line = 50, .file = "/usr/lib/torch/adam.py"})});
  Checked all = checked(report, "[per_step]\nh2d_count = 1\nd2h_count = 0\n[verdict]\nbound_by = \"gpu\"\n");
  all.budget.path = (folder.path() / "turnpike.toml").string();
  std::string text = to_sarif(all.result, all.budget, Repository(folder.path()));
  const std::string version = "\"version\": \"" TURNPIKE_VERSION "\"";
  text.replace(text.find(version), version.size(), "\"version\": \"VERSION\"");
  expect_golden(text, "distinct.sarif");
}

TEST(Github, ABreachWithoutAPlaceIsAtItsLineOfTheBudget) {
  const Folder folder;
  folder.add("turnpike.toml");
  Checked all = checked(report_with({}), "[verdict]\n# why\nbound_by = \"gpu\"\n");
  all.budget.path = (folder.path() / "turnpike.toml").string();
  EXPECT_THAT(to_github(all.result, all.budget, Repository(folder.path())),
              StartsWith("::error file=turnpike.toml,line=3,title="));
  all.result.limits[0].line = 0;
  EXPECT_THAT(to_github(all.result, all.budget, Repository(folder.path())),
              StartsWith("::error file=turnpike.toml,line=1,title="));
}

TEST(Repository, FindsTheLongestEndOfAPathThatIsThere) {
  const Folder folder;
  folder.add("train.py");
  folder.add("src/train.py");
  const Repository repository(folder.path());
  EXPECT_EQ(repository.relative((folder.path() / "train.py").string()), "train.py");
  EXPECT_EQ(repository.relative((folder.path() / "src/../src/train.py").string()), "src/train.py");
  EXPECT_EQ(repository.relative("/build/src/train.py"), "src/train.py");
  EXPECT_EQ(repository.relative("/build/other/train.py"), "train.py");
  EXPECT_EQ(repository.relative("train.py"), "train.py");
  EXPECT_EQ(repository.relative("/build/eval.py"), std::nullopt);
  EXPECT_EQ(repository.relative("/build/src"), std::nullopt) << "a folder";
  EXPECT_EQ(repository.relative(""), std::nullopt);
  EXPECT_EQ(repository.relative("../train.py"), std::nullopt);
}

TEST(Repository, TakesTheFirstFrameThatIsInIt) {
  const Folder folder;
  folder.add("train.py");
  const Repository repository(folder.path());
  analyze::Item item;
  const auto line_of = [&](const std::string& frame) -> std::uint32_t {
    item.stack = {frame};
    const auto line = repository.line_of(item);
    return line ? line->line : 0;
  };
  EXPECT_EQ(line_of("main (/ci/train.py:7)"), 7u);
  EXPECT_EQ(line_of("(/ci/train.py:7)"), 0u);
  EXPECT_EQ(line_of("main (/ci/train.py:7"), 0u);
  EXPECT_EQ(line_of("main (/ci/train.py:)"), 0u);
  EXPECT_EQ(line_of("main (/ci/train.py:7x)"), 0u);
  EXPECT_EQ(line_of("main (/ci/train.py)"), 0u);
  EXPECT_EQ(line_of("a:b (train.py)"), 0u);
  EXPECT_EQ(line_of("main (/ci/train.py:4294967296)"), 0u);
  EXPECT_EQ(line_of("main (/ci/eval.py:7)"), 0u);
  item.stack = {"x", "main (/ci/eval.py:7)", "main (/ci/train.py:8)", "main (/ci/train.py:9)"};
  EXPECT_EQ(repository.line_of(item)->line, 8u);
  item.file = "/ci/train.py";
  EXPECT_EQ(repository.line_of(item)->line, 1u) << "the line is not known";
  item.line = 5;
  EXPECT_EQ(repository.line_of(item)->line, 5u);
  EXPECT_EQ(repository.line_of(item)->path, "train.py");
}

// The lines of a budget that a run with these figures gets.
std::string budget_lines(std::uint64_t count, std::uint64_t bytes, std::int64_t blocked_ns) {
  analyze::Report report = report_with({});
  report.steps.reset();
  analyze::Site site = site_of({});
  site.count = count;
  site.bytes = bytes;
  site.host_blocked_ns = blocked_ns;
  report.sites = {site};
  const std::string text = budget_for(report, "run");
  std::string lines;
  for (const char* key : {"h2d_count", "h2d_bytes", "blocked"}) {
    const std::size_t at = text.find("\n" + std::string(key) + " = ");
    lines += text.substr(at + 1, text.find("  #", at) - at - 1) + "\n";
  }
  for (std::size_t at = 0; (at = lines.find(" \n")) != std::string::npos;) lines.erase(at, 1);
  return lines;
}

TEST(BudgetText, RoundsUpToTwoDigitsThatCount) {
  EXPECT_EQ(budget_lines(3, 99, 0), "h2d_count = 3\nh2d_bytes = \"99 B\"\nblocked = 0\n");
  EXPECT_EQ(budget_lines(3, 1, 0), "h2d_count = 3\nh2d_bytes = \"1 B\"\nblocked = 0\n");
  EXPECT_EQ(budget_lines(3, 0, 0), "h2d_count = 3\nh2d_bytes = 0\nblocked = 0\n");
  EXPECT_EQ(budget_lines(3, 100, 1), "h2d_count = 3\nh2d_bytes = \"110 B\"\nblocked = \"2 ns\"\n");
  EXPECT_EQ(budget_lines(3, 1'000, 500), "h2d_count = 3\nh2d_bytes = \"1.1 kB\"\nblocked = \"1 us\"\n");
  EXPECT_EQ(budget_lines(3, 1'001, 505), "h2d_count = 3\nh2d_bytes = \"1.2 kB\"\nblocked = \"1.1 us\"\n");
  EXPECT_EQ(budget_lines(3, 909'091, 499'000), "h2d_count = 3\nh2d_bytes = \"1.1 MB\"\nblocked = \"1 ms\"\n");
  EXPECT_EQ(budget_lines(3, 3'000'000'000, 3'000'000'000),
            "h2d_count = 3\nh2d_bytes = \"3.3 GB\"\nblocked = \"6 s\"\n");
  EXPECT_EQ(budget_lines(3, 3'000'000'000'000, 61), "h2d_count = 3\nh2d_bytes = \"3300 GB\"\nblocked = \"130 ns\"\n");
  EXPECT_THAT(budget_lines(999'999'999'999'999, 1, 1), StartsWith("h2d_count = 999999999999999\n"));
  EXPECT_THAT(budget_lines(1'000'000'000'000'000, 1, 1), StartsWith("h2d_count = 1000000000000000\n"));
  EXPECT_THAT(budget_lines(18'446'744'073'709'551'615u, 1, 1), StartsWith("h2d_count = 1.8446744073709552e+19\n"));
}

TEST(BudgetText, NamesWhatWasLostAndWhatLimits) {
  analyze::Report report = report_with({});
  report.losses = {{"cupti_dropped", 1}, {"stack_truncated", 2}};
  report.verdict.bound_by = analyze::Bound::kGpu;
  EXPECT_THAT(budget_for(report, "run"), HasSubstr("# bound_by = [\"gpu\"]  "));
  EXPECT_THAT(
      budget_for(report, "run"),
      EndsWith(
          "\n[losses]\nallow = [\"cupti_dropped\", \"stack_truncated\"]  # what this run lost already; anything else "
          "fails\n"));
  EXPECT_THAT(budget_for(report, "run"), Not(HasSubstr("p2p_count")));
  report.source.devices.push_back({1, "other", 0});
  EXPECT_THAT(budget_for(report, "run"), HasSubstr("\np2p_count = 0 "));
}

TEST(CheckText, EveryKindOfValueHasItsUnit) {
  using analyze::ValueKind;
  analyze::LimitResult limit;
  const std::tuple<ValueKind, const char*, const char*, const char*> cases[] = {
      {ValueKind::kAmount, "1500", "2500", "count"},
      {ValueKind::kBytes, "1.50 kB", "2.50 kB", "bytes"},
      {ValueKind::kDuration, "1.50 us", "2.50 us", "ns"},
      {ValueKind::kPercent, "1500 %", "2500 %", "pct"}};
  for (const auto& [kind, measured, most, unit] : cases) {
    limit.kind = kind;
    limit.measured = 1'500;
    limit.most = 2'500;
    EXPECT_EQ(measured_text(limit), measured);
    EXPECT_EQ(most_text(limit), most);
    EXPECT_EQ(share_text(limit, 1'500), measured);
    analyze::CheckResult result;
    result.limits = {limit};
    const auto json = nlohmann::json::parse(to_json(result, analyze::Report{}, analyze::Budget{}));
    EXPECT_EQ(json["limits"][0]["unit"], unit);
    EXPECT_TRUE(json["limits"][0]["budget_line"].is_null());
    EXPECT_TRUE(json["whole_steps"].is_null());
    EXPECT_EQ(json["passed"], true);
    limit.measured.reset();
    EXPECT_EQ(measured_text(limit), "?");
  }
  limit.kind = ValueKind::kText;
  EXPECT_EQ(measured_text(limit), "?");
  EXPECT_EQ(share_text(limit, 1), "?");
  limit.measured_text = "some";
  limit.most_text = "none";
  EXPECT_EQ(measured_text(limit), "some");
  EXPECT_EQ(most_text(limit), "none");
}

TEST(CheckText, ALongListStandsBelowItsRow) {
  analyze::CheckResult result;
  analyze::LimitResult limit;
  limit.name = "losses.allow";
  limit.kind = analyze::ValueKind::kText;
  limit.measured_text = std::string(30, 'm');
  limit.most_text = std::string(30, 'a');
  result.limits = {limit};
  const auto text = [&] { return to_text(result, analyze::Report{}, analyze::Budget{}, {}); };
  EXPECT_THAT(text(), HasSubstr("\n  ok  losses.allow  " + limit.measured_text + "  " + limit.most_text + "\n\n"));
  result.limits[0].measured_text += "m";
  result.limits[0].most_text += "a";
  EXPECT_THAT(text(), HasSubstr("  mmmmmmmmm...mmmmmmmmmmmmmmmmmm  aaaaaaaaa...aaaaaaaaaaaaaaaaaa\n            " +
                                result.limits[0].measured_text +
                                "\n            allowed: " + result.limits[0].most_text + "\n"));
}

TEST(CheckText, TheOutcomeCountsWhatFailed) {
  analyze::CheckResult result;
  result.limits.resize(5);
  const auto last_line = [&] {
    std::string text = to_text(result, analyze::Report{}, analyze::Budget{}, {});
    text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  };
  EXPECT_EQ(last_line(), "PASSED: 5 of 5 limits kept.");
  result.unknown_count = 1;
  EXPECT_EQ(last_line(), "FAILED: 1 of 5 limits could not be checked.");
  result.exceeded_count = 2;
  EXPECT_EQ(last_line(), "FAILED: 2 of 5 limits exceeded, 1 of 5 limits could not be checked.");
  result.unknown_count = 0;
  EXPECT_EQ(last_line(), "FAILED: 2 of 5 limits exceeded.");
}

}  // namespace
}  // namespace turnpike::report
