#include "report/html/redact.h"

#include <gtest/gtest.h>

namespace turnpike::report::html {
namespace {

analyze::Report report_with(std::initializer_list<const char*> files) {
  analyze::Report report;
  for (const char* file : files) {
    analyze::Site site;
    site.file = file;
    report.sites.push_back(site);
  }
  return report;
}

TEST(Redact, KeepsWhatTellsTheProgramsFilesApart) {
  const auto redactor = Redactor::for_report(
      report_with({"/home/me/secret project/src/train.py", "/home/me/secret project/data/loader.py"}));
  EXPECT_EQ(redactor.path("/home/me/secret project/src/train.py"), "src/train.py");
  EXPECT_EQ(redactor.path("/home/me/secret project/data/loader.py"), "data/loader.py");
  EXPECT_EQ(redactor.path("/opt/other/tool.py"), "tool.py");
  EXPECT_EQ(redactor.path("/opt/v/lib/python3.12/site-packages/torch/nn/modules/linear.py"),
            "torch/nn/modules/linear.py");
  EXPECT_EQ(redactor.path("relative.py"), "relative.py");
}

TEST(Redact, CutsPathsInTexts) {
  const auto redactor = Redactor::for_report(report_with({"/home/me/secret project/train.py"}));
  EXPECT_EQ(redactor.text("python3 /home/me/secret project/train.py --data=/mnt/private/set"),
            "python3 train.py --data=set");
  EXPECT_EQ(redactor.text("12 GB/s, and/or 3 / 4"), "12 GB/s, and/or 3 / 4");
}

TEST(Redact, LeavesNoFolderInAReport) {
  analyze::Report report = report_with({"/home/me/secret project/train.py"});
  report.sites.front().stack = {"step (/home/me/secret project/train.py:3)", "main (/srv/hidden folder/run.py:9)"};
  report.source.paths = {"/home/me/secret project/run.tpk"};
  report.source.program = "python3 /home/me/secret project/train.py";
  report.source.hosts = {"box17"};
  analyze::Identity& named = report.source.identities.emplace_back();
  named.host = "box17";
  named.node = "node17";
  named.job_id = "secret";
  named.rank = 3;
  report.source.inputs.notes = {"The file /srv/hidden/x.tpt is older."};
  Redactor::for_report(report).apply(report);
  EXPECT_EQ(report.sites.front().file, "train.py");
  EXPECT_EQ(report.sites.front().stack.at(0), "step (train.py:3)");
  EXPECT_EQ(report.sites.front().stack.at(1), "main (run.py:9)");
  EXPECT_EQ(report.source.paths.front(), "run.tpk");
  EXPECT_EQ(report.source.program, "python3 train.py");
  EXPECT_TRUE(report.source.hosts.empty());
  const analyze::Identity& identity = report.source.identities.front();
  EXPECT_EQ(identity.host + identity.node + identity.job_id, "");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(report.source.inputs.notes.front(), "The file x.tpt is older.");
}

TEST(Redact, CutsNothingUnlessAsked) {
  EXPECT_EQ(Redactor().path("/a/b/c.py"), "/a/b/c.py");
  EXPECT_EQ(Redactor().text("see /a/b/c.py"), "see /a/b/c.py");
}

}  // namespace
}  // namespace turnpike::report::html
