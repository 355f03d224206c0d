// Names of findings that last, and their places in a repository.
#include "report/findings/finding_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "trace/trace_file.h"

namespace turnpike::report {
namespace {

analyze::Finding finding_at(const std::string& file, std::uint32_t line) {
  analyze::Finding finding;
  finding.rule = "implicit_sync";
  finding.site = "train.py:" + std::to_string(line);
  finding.file = file;
  finding.line = line;
  finding.function = "train";
  finding.op = "aten::item";
  return finding;
}

std::string id_of(const analyze::Finding& finding, const std::string& source = "") {
  analyze::Report report;
  report.findings = {finding};
  if (!source.empty()) report.source_text.add(*finding.file, "", 1, source);
  return data_of_findings(report, nullptr).at(0).id;
}

TEST(FindingData, TheNameStaysWhenTheLineMoves) {
  const std::string before = id_of(finding_at("/home/me/train.py", 2), "def train():\n    loss.item()\n");
  EXPECT_TRUE(before.starts_with("implicit_sync-"));
  EXPECT_EQ(before.size(), std::string("implicit_sync-").size() + 8);
  EXPECT_EQ(id_of(finding_at("/home/me/train.py", 3), "import os\ndef train():\n    loss.item()\n"), before);
  EXPECT_EQ(id_of(finding_at("/ci/work/train.py", 2), "def train():\n  loss.item()\n"), before) << "another machine";
}

TEST(FindingData, AnotherLineFunctionOperatorFileOrRuleHasAnotherName) {
  const std::string source = "def train():\n    loss.item()\n    total.item()\n";
  const analyze::Finding finding = finding_at("/train.py", 2);
  std::vector<analyze::Finding> others(5, finding);
  others[0].line = 3;
  others[1].function = "test";
  others[2].op = "aten::cpu";
  others[3].file = "/other.py";
  others[4].rule = "blocking_copy";
  for (const analyze::Finding& other : others) EXPECT_NE(id_of(other, source), id_of(finding, source));
}

TEST(FindingData, WithoutAFileTheSiteTellsPlacesApart) {
  analyze::Finding whole, native;
  whole.rule = native.rule = "launch_bound";
  native.site = "upload (libmine.so)";
  EXPECT_NE(id_of(whole), id_of(native));
}

TEST(FindingData, TwoOfOneNameAreNumbered) {
  analyze::Report report;
  report.findings = {finding_at("/train.py", 2), finding_at("/train.py", 2)};
  const auto data = data_of_findings(report, nullptr);
  EXPECT_EQ(data.at(1).id, data.at(0).id + "-2");
}

TEST(FindingData, ThePlaceIsThatInTheRepository) {
  const trace::TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path() / "src");
  std::ofstream(folder.path() / "src" / "train.py") << "x\n";
  analyze::Report report;
  report.findings = {finding_at("/elsewhere/src/train.py", 1), finding_at("/elsewhere/other.py", 1)};
  const Repository repository(folder.path());
  const auto data = data_of_findings(report, &repository);
  ASSERT_TRUE(data.at(0).in_repository);
  EXPECT_EQ(data.at(0).in_repository->path, "src/train.py");
  EXPECT_EQ(data.at(0).in_repository->line, 1u);
  EXPECT_FALSE(data.at(1).in_repository);
}

}  // namespace
}  // namespace turnpike::report
