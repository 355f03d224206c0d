// The result of a check for people, for CI and for other programs.
#include "report/check_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyze/budget_file.h"
#include "analyze/report_maker.h"
#include "golden.h"
#include "report/budget_text.h"
#include "report/check_json.h"
#include "report/github.h"
#include "report/sarif.h"
#include "report/text_width.h"
#include "sample_report.h"

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
      EXPECT_EQ(limit.outcome, analyze::Outcome::kWithin) << limit.name << "\n" << text;
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

}  // namespace
}  // namespace turnpike::report
