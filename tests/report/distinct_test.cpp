// Every figure under its own key and in its own column: reports in which no two values are the same, as files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analyze/budget/budget_file.h"
#include "analyze/budget/check.h"
#include "analyze/compare/compare.h"
#include "report/ci/findings_github.h"
#include "report/ci/findings_sarif.h"
#include "report/ci/github.h"
#include "report/ci/sarif.h"
#include "report/distinct_report.h"
#include "report/golden.h"
#include "report/json/check_json.h"
#include "report/json/diff_json.h"
#include "report/json/json.h"
#include "report/leaves.h"
#include "report/markdown/diff_markdown.h"
#include "report/markdown/report_markdown.h"
#include "report/text/budget_text.h"
#include "report/text/check_text.h"
#include "report/text/diff_text.h"
#include "report/text/terminal.h"
#include "report/whole_text.h"

namespace turnpike::report {
namespace {

using Json = nlohmann::json;

// Words of a fixed few, which more than one row must share.
const std::set<std::string> kEnumerations = {"phase",    "direction",    "severity",
                                             "in_graph", "missing_call", "link_source"};

// Null by the values of others; a test of its own looks at each.
const std::set<std::string> kFollowing = {"why_no_advice"};

// Fails for each key that no value tells from the others: null everywhere, or the same as that of another key.
void expect_every_key_distinct(const Json& document) {
  std::map<std::string, bool> has_value;
  std::map<std::string, std::string> path_of_value;
  for (const Leaf& leaf : leaves_of(document)) {
    if (kFollowing.contains(leaf.key)) continue;
    has_value[leaf.path] = has_value[leaf.path] || !leaf.value.is_null();
    if (leaf.value.is_null() || kEnumerations.contains(leaf.key)) continue;
    const auto [found, is_new] = path_of_value.try_emplace(leaf.value.dump(), leaf.path);
    EXPECT_TRUE(is_new) << leaf.path << " and " << found->second << " are both " << leaf.value
                        << ": give the new field a value of its own in distinct_report.h";
  }
  for (const auto& [path, is_known] : has_value) {
    EXPECT_TRUE(is_known || has_value.contains(path + "[]"))
        << path << " has no value: set the new field in distinct_report.h";
  }
}

TEST(Distinct, JsonHasEveryValueUnderItsKey) {
  expect_golden(to_json(distinct_report(), distinct_data()), "distinct.json");
}

TEST(Distinct, EveryKeyOfTheJsonHasAValueOfItsOwn) {
  expect_every_key_distinct(Json::parse(to_json(distinct_report(), distinct_data())));
}

TEST(Distinct, EveryKeyOfTheJsonIsThereWithoutValuesToo) {
  std::set<std::string> full;
  std::set<std::string> bare;
  for (const Leaf& leaf : leaves_of(Json::parse(to_json(bare_report())))) bare.insert(leaf.path);
  for (const Leaf& leaf : leaves_of(Json::parse(to_json(distinct_report(), distinct_data())))) {
    std::string parent = leaf.path;
    // What is null as a whole has none of its keys.
    while (!parent.empty() && !bare.contains(parent)) {
      const std::size_t end = parent.find_last_of(".[");
      parent = end == std::string::npos ? "" : parent.substr(0, end);
    }
    EXPECT_FALSE(parent.empty()) << leaf.path;
  }
}

TEST(Distinct, FindingsForCodeReviewHaveEveryFigure) {
  expect_golden(to_sarif(distinct_report(), distinct_data()), "distinct_findings.sarif");
  expect_golden(to_github(distinct_report(), distinct_data()), "distinct_findings.github.txt");
}

TEST(Distinct, MarkdownHasEveryFigureInItsColumn) {
  expect_golden(to_markdown(distinct_report(), distinct_data()), "distinct.md");
  expect_golden(to_markdown(bare_report(), {}), "bare.md");
}

TEST(Distinct, JsonIsNullWhereTheReportCannotTell) {
  expect_golden(to_json(bare_report()), "bare.json");
}

TEST(Distinct, TextHasEveryFigureInItsColumn) {
  expect_golden(whole_text(distinct_report(), {}), "distinct.txt");
  expect_golden(whole_text(distinct_report(), {.width = 72}), "distinct_72.txt");
  expect_golden(whole_text(distinct_report(), {.width = 40, .top = 2}), "distinct_40.txt");
  expect_golden(whole_text(distinct_report(), {.width = 80, .has_colour = true, .top = 1}), "distinct_colour.txt");
}

TEST(Distinct, TextSaysWhatIsUnknown) {
  expect_golden(whole_text(bare_report(), {}), "bare.txt");
}

// More of everything than a report shows.
analyze::Report crowded_report() {
  analyze::Report report = distinct_report();
  report.source.detail = "transfers";
  report.sites.clear();
  report.sync_sites.clear();
  report.findings.clear();
  report.ranges.clear();
  for (std::uint32_t number = 1; number <= 17; ++number) {
    const std::string n = std::to_string(number);
    report.sites.push_back(distinct_site(number, analyze::Direction::kHostToDevice, analyze::Phase::kForward));
    report.sync_sites.push_back(distinct_sync_site(number, analyze::Phase::kBackward));
    analyze::Finding finding = distinct_findings()[0];
    finding.site = "finding.py:3" + n;
    finding.saving_pct = 30.0 - number;
    finding.saving_step_ns = 900'000 - 10'000 * static_cast<std::int64_t>(number);
    if (number < 14) report.findings.push_back(finding);
    analyze::RangeVerdict range = distinct_ranges()[0];
    range.name = "range" + n;
    if (number < 11) report.ranges.push_back(range);
  }
  for (std::uint32_t number = 2; number <= 5; ++number) {
    analyze::HostThread thread = distinct_thread();
    thread.role = number == 2 ? analyze::ThreadRole::kAutograd : analyze::ThreadRole::kOther;
    thread.name = number == 4 ? "" : "thread name " + std::to_string(number);
    if (number == 3) thread.thread = 4713;
    report.verdict.threads.push_back(thread);
    report.memory->sites.push_back({.site = "memory.py:1" + std::to_string(number),
                                    .kind = analyze::AllocationKind::kManaged,
                                    .bytes = 1'000 * number,
                                    .count = 1});
  }
  return report;
}

TEST(Distinct, TextOfACrowdedRunSaysWhatItLeavesOut) {
  expect_golden(whole_text(crowded_report(), {}), "crowded.txt");
}

std::string diff_json(const analyze::Report& before, const analyze::Report& after) {
  return to_json(analyze::compare(before, after), before, after);
}

std::string diff_text(const analyze::Report& before, const analyze::Report& after, const TextOptions& options) {
  return to_text(analyze::compare(before, after), before, after, options);
}

TEST(Distinct, DiffJsonHasEveryValueUnderItsKey) {
  expect_golden(diff_json(distinct_report(), changed_report()), "distinct_diff.json");
  expect_golden(diff_json(bare_report(), distinct_report()), "bare_diff.json");
}

// Within each object, and in the same object of both runs.
TEST(Distinct, EveryFigureOfTheDiffJsonHasAValueOfItsOwn) {
  const Json document = Json::parse(diff_json(distinct_report(), changed_report()));
  for (const char* side : {"before", "after"}) {
    std::map<double, std::string> seen;
    for (const Leaf& leaf : leaves_of(document[side])) {
      if (!leaf.value.is_number()) continue;
      // A synchronisation moves no bytes.
      if (leaf.path.starts_with("syncs.") && leaf.value == 0) continue;
      if (leaf.path == "steps.median_ns") continue;  // the duration, in the unit of a step
      const auto [found, is_new] = seen.try_emplace(leaf.value.get<double>(), leaf.path);
      EXPECT_TRUE(is_new) << side << "." << leaf.path << " and " << found->second << " are both " << leaf.value;
    }
  }
  std::map<std::string, bool> has_value;
  for (const Leaf& leaf : leaves_of(document)) {
    const bool is_missing_object = leaf.path == "findings[].before" || leaf.path == "findings[].after";
    if (kFollowing.contains(leaf.key)) continue;
    has_value[leaf.path] = has_value[leaf.path] || !leaf.value.is_null() || is_missing_object;
  }
  for (const auto& [path, is_known] : has_value) EXPECT_TRUE(is_known) << path << " has no value";
  for (const Json& site : document["sites"]) {
    for (const char* key : {"site", "line", "count", "blocked_ns"}) {
      if (site["before"].is_null() || site["after"].is_null() || site["before"]["kind"] == "sync") continue;
      EXPECT_NE(site["before"][key], site["after"][key]) << key;
    }
  }
}

TEST(Distinct, DiffTextHasEveryFigureInItsColumn) {
  expect_golden(
      to_markdown(analyze::compare(distinct_report(), changed_report()), distinct_report(), changed_report(), 3),
      "distinct_diff.md");
  expect_golden(diff_text(distinct_report(), changed_report(), {}), "distinct_diff.txt");
  expect_golden(diff_text(distinct_report(), changed_report(), {.width = 64, .has_colour = true, .top = 3}),
                "distinct_diff_64.txt");
  expect_golden(diff_text(bare_report(), distinct_report(), {.width = 40, .top = 1}), "bare_diff_40.txt");
}

constexpr const char* kBudget = R"([per_step]
h2d_count = 17.5
h2d_bytes = "1.7 MB"
d2h_count = 17.25
d2d_bytes = "1 MB"
memset_count = 2
syncs = 45
blocked = "2.25 ms"
exposed = "1 us"
duration = "3.142 ms"
[per_run]
count = 1
duration = "3 s"
[verdict]
bound_by = ["gpu", "launch"]
max_exposed_transfer_pct = 21.5
max_gpu_idle_pct = 46.75
[findings]
forbid = ["implicit_*", "no_such_rule"]
max_saving_pct = 25.5
[losses]
allow = ["cupti_dropped"]
[[allow]]
site = "place3.py"
reason = "once in a while"
[[allow]]
site = "gone.py"
reason = "it was there once"
optional = true
[[limit]]
site = "place2.py:*"
direction = "d2h"
bytes = "3 MB"
)";

struct Checked {
  analyze::Report report = distinct_report();
  analyze::Budget budget = *analyze::parse_budget(kBudget, "ci/turnpike.toml");
  analyze::CheckResult result = analyze::check(report, budget);
};

TEST(Distinct, CheckSaysEveryLimitWithItsValue) {
  const Checked all;
  expect_golden(to_json(all.result, all.report, all.budget), "distinct_check.json");
  expect_golden(to_text(all.result, all.report, all.budget, {}), "distinct_check.txt");
  expect_golden(to_text(all.result, all.report, all.budget, {.width = 50, .has_colour = true}),
                "distinct_check_50.txt");
  expect_golden(to_github(all.result, all.budget, Repository("/no/such/folder")), "distinct_check.github.txt");
}

TEST(Distinct, BudgetOfARunHoldsItsFigures) {
  expect_golden(budget_for(distinct_report(), "train.tpk"), "distinct_budget.toml");
  expect_golden(budget_for(bare_report(), "bare\n.json"), "bare_budget.toml");
}

}  // namespace
}  // namespace turnpike::report
