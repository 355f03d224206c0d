// Rows of the tables by line: names, notes and what is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/distinct_report.h"
#include "report/text/terminal.h"
#include "report/whole_text.h"

namespace turnpike::report {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

analyze::Report report_of(std::vector<analyze::Site> sites) {
  analyze::Report report = distinct_report();
  report.sites = std::move(sites);
  return report;
}

analyze::Site upload(std::uint32_t number) {
  return distinct_site(number, analyze::Direction::kHostToDevice, analyze::Phase::kForward);
}

std::string text_of(const analyze::Report& report) {
  return whole_text(report, {});
}

TEST(SitesText, SizesThatDifferAreMeans) {
  analyze::Site site = upload(1);
  site.count = 4;
  site.bytes = 4'000;
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("  4  1.00 kB  4.00 kB"));
  site.bytes = 4'001;
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("  4  ~1.00 kB  4.00 kB"));
  site.count = 0;
  EXPECT_THAT(text_of(report_of({site})), ContainsRegex("  0 +\\?  4.00 kB"));
}

TEST(SitesText, LongNamesAreCutToTheirShare) {
  analyze::Site site = upload(1);
  site.op = "aten::" + std::string(30, 'o');
  EXPECT_THAT(text_of(report_of({site})), HasSubstr(" " + *site.op + " in function1,")) << "36 columns";
  site.op = "aten::" + std::string(31, 'o');
  EXPECT_THAT(text_of(report_of({site})), HasSubstr(" aten::ooooo...oooooooooooooooooooooo in function1,"));
}

TEST(SitesText, NativePlacesNameTheirModule) {
  analyze::Site site = upload(1);
  site.file.reset();
  site.forward_site.reset();
  site.function = "at::native::copy";
  site.site = "at::native::copy (libtorch.so)";
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("aten::op1 in at::native::copy (libtorch.so), forward pass"));
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("  1  at::native::copy  CPU > GPU"));
  site.site = "elsewhere";
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("aten::op1 in at::native::copy, forward pass"));
  site.function.reset();
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("  1  elsewhere  CPU > GPU"));
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("      aten::op1, forward pass"));
  site.op.reset();
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("      cudaApi1, forward pass"));
}

TEST(SitesText, TheForwardLineStandsForBackwardWorkWithoutPythonAlone) {
  analyze::Site site = upload(1);
  site.phase = analyze::Phase::kBackward;
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("made by the forward line model.py:41"));
  EXPECT_THAT(text_of(report_of({site})), Not(HasSubstr("(bwd)")));
  site.file.reset();
  EXPECT_THAT(text_of(report_of({site})), HasSubstr("  1  model.py:41 (bwd)  CPU > GPU"));
  EXPECT_THAT(text_of(report_of({site})), Not(HasSubstr("made by the forward line model.py:41")));
  site.phase = analyze::Phase::kForward;
  EXPECT_THAT(text_of(report_of({site})), Not(HasSubstr("(bwd)")));
  site.phase = analyze::Phase::kBackward;
  site.forward_site.reset();
  EXPECT_THAT(text_of(report_of({site})), Not(HasSubstr("(bwd)")));
}

TEST(SitesText, TheMarkIsExplainedOnlyWhereItIsShown) {
  std::vector<analyze::Site> sites;
  for (std::uint32_t number = 1; number <= 3; ++number) sites.push_back(upload(number));
  sites[2].phase = analyze::Phase::kBackward;
  sites[2].file.reset();
  constexpr const char* kExplained = "  (bwd): made by the backward pass of that line.\n";
  EXPECT_THAT(whole_text(report_of(sites), {.top = 3}), HasSubstr(kExplained));
  EXPECT_THAT(whole_text(report_of(sites), {.top = 2}), Not(HasSubstr(kExplained)));
}

TEST(SitesText, SharedNamesAreToldApartByTheirPath) {
  std::vector<analyze::Site> sites = {upload(1), upload(1), upload(2)};
  sites[1].file = "/other/place1.py";
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("  1  /home/me/place1.py:21  CPU > GPU"));
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("  2  /other/place1.py:21    CPU > GPU"));
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("  3  place2.py:22           CPU > GPU"));
  sites[1].file = sites[0].file;
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("  2  place1.py:21  CPU > GPU"));
  sites[1].file.reset();
  sites[1].function.reset();
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("  2  place1.py:21           CPU > GPU"));
}

TEST(SitesText, OfACallThatIsMissingTheLikelyPlaceIsNamed) {
  std::vector<analyze::Site> sites = {upload(1), upload(2), upload(3), upload(4)};
  analyze::Site& cut = sites[0];
  cut.missing_call = analyze::MissingCall::kUnknown;
  for (analyze::Site& site : sites) {
    site.src_kind = "pageable";
    site.dst_kind = "device";
    site.streams = {7, 8};
  }
  sites[1].count = 10;
  sites[2].count = 30;
  sites[3].count = 20;
  EXPECT_THAT(text_of(report_of(sites)),
              HasSubstr("30 of the 60 like them whose call is known came from place3.py:23\n"));
  cut.count = 1;
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("the call that started it is not in the file\n"));
  EXPECT_THAT(text_of(report_of(sites)),
              HasSubstr("30 of the 60 like it whose call is known came from place3.py:23\n"));
  sites[3].streams = {9};
  EXPECT_THAT(text_of(report_of(sites)),
              HasSubstr("30 of the 40 like it whose call is known came from place3.py:23\n"));
  sites[2].src_kind = "pinned";
  EXPECT_THAT(text_of(report_of(sites)),
              HasSubstr("all of the 10 like it whose call is known came from place2.py:22\n"));
  sites[1].dst_kind = "array";
  EXPECT_THAT(text_of(report_of(sites)), Not(HasSubstr("whose call is known")));
  sites[1].dst_kind = "device";
  sites[1].direction = analyze::Direction::kDeviceToHost;
  EXPECT_THAT(text_of(report_of(sites)), Not(HasSubstr("whose call is known")));
  sites[1].direction = cut.direction;
  sites[1].missing_call = analyze::MissingCall::kEarlier;
  EXPECT_THAT(text_of(report_of(sites)), Not(HasSubstr("whose call is known")));
  cut.streams = {7};
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("pageable > device, stream 7\n"));
  cut.streams.clear();
  EXPECT_THAT(text_of(report_of(sites)), HasSubstr("pageable > device, stream unknown\n"));
}

TEST(SitesText, TheFirstFiveRowsShowTheirLine) {
  analyze::Report report = distinct_report();
  std::string source;
  for (int number = 1; number <= 9; ++number) source += "    line_" + std::to_string(number) + "()\n";
  report.source_text.add("/home/me/train.py", "", 1, source);
  report.sites.clear();
  report.sync_sites.clear();
  for (std::uint32_t number = 1; number <= 7; ++number) {
    report.sites.push_back(upload(number));
    report.sites.back().file = "/home/me/train.py";
    report.sites.back().line = number;
    report.sync_sites.push_back(distinct_sync_site(number, analyze::Phase::kForward));
    report.sync_sites.back().file = "/home/me/train.py";
    report.sync_sites.back().line = number + 2;
  }
  report.sites[3].line.reset();
  const std::string text = whole_text(report, {.has_colour = true});
  const std::size_t middle = text.find("SYNCHRONISATIONS BY LINE");
  const std::string transfers = text.substr(0, middle);
  const std::string syncs = text.substr(middle);
  for (int number = 1; number <= 9; ++number) {
    const std::string line = "\n\x1b[36m      line_" + std::to_string(number) + "()\x1b[0m\n";
    EXPECT_EQ(transfers.find(line) != std::string::npos, number <= 5 && number != 4) << number;
    EXPECT_EQ(syncs.find(line) != std::string::npos, number >= 3 && number <= 7) << number;
  }
}

TEST(SitesText, ALineOfSourceDoesNotCommandTheTerminal) {
  analyze::Report report = report_of({upload(1)});
  report.source_text.add(*report.sites[0].file, "", *report.sites[0].line, "x \x1b[2J\xc2\x9b \xe2\x80\xae\n");
  EXPECT_THAT(text_of(report), HasSubstr("x \\x1b[2J\\x9b \\u202e\n"));
}

TEST(TotalsText, APageableShareIsOfBytesWhereThereAreSome) {
  analyze::Report report = distinct_report();
  report.totals = {};
  analyze::Total& up = report.totals[0];
  up.count = 4;
  up.pageable_count = 1;
  up.link_gbps = 10;
  EXPECT_THAT(text_of(report), HasSubstr("  CPU > GPU      4    0 B      25 %            ?      ?  ? of 10.0 GB/s"));
  up.bytes = 100;
  up.pageable_bytes = 50;
  EXPECT_THAT(text_of(report), HasSubstr("  CPU > GPU      4  100 B      50 %  "));
  up.link_gbps = 0;
  up.bandwidth_gbps = 1;
  EXPECT_THAT(text_of(report), HasSubstr("1.00 GB/s  link unknown"));
  EXPECT_THAT(text_of(report), Not(HasSubstr("turnpike bench link"))) << "it was measured, and is none";
  EXPECT_THAT(text_of(report), HasSubstr("in all: CPU blocked 308 ms, synchronisations included."));
  report.syncs.of_transfers_host_blocked_ns.reset();
  EXPECT_THAT(text_of(report), HasSubstr("in all: CPU blocked 1.22 s, synchronisations included."));
  report.syncs.host_blocked_ns.reset();
  EXPECT_THAT(text_of(report), Not(HasSubstr("in all: ")));
}

// Start-up and other processes are in the totals, so these divided by the steps are not what a step does.
TEST(TotalsText, AStepIsAMedianOne) {
  analyze::Report report = distinct_report();
  report.steps->whole_count = 951;
  report.steps->medians = {.counts = {1.5, 0, 2}, .bytes = {3'000, 0, 500}, .syncs = 1, .blocked_ns = 10'000};
  EXPECT_THAT(text_of(report), HasSubstr("per step: 1.50 CPU > GPU, 3.00 kB; 2.00 in GPU, 500 B; CPU blocked 10.0 us "
                                         "of 3.14 ms (medians of\n            951 steps).\n"));
  report.steps->medians.reset();
  EXPECT_THAT(text_of(report), Not(HasSubstr("per step: ")));
  report.steps.reset();
  EXPECT_THAT(text_of(report), Not(HasSubstr("per step: ")));
}

TEST(HostText, ALeadIsLongFromTwentyMicrosecondsOn) {
  analyze::Report report = distinct_report();
  const auto lead = [&](std::int64_t p10_ns, std::int64_t median_ns) {
    report.verdict.launch_lead = analyze::Spread{.p10_ns = p10_ns, .median_ns = median_ns, .p90_ns = 90'000};
    std::string text = whole_text(report, {.width = 300});
    return text.substr(text.find("  Kernels"), text.find('\n', text.find("  Kernels")) - text.find("  Kernels"));
  };
  EXPECT_EQ(
      lead(100, 19'999),
      "  Kernels start 20.0 us after their launch (median; 100 ns to 90.0 us for most): the queue is nearly empty, "
      "and the GPU waits for work.");
  EXPECT_EQ(lead(19'999, 20'000),
            "  Kernels start 20.0 us after their launch (median; 20.0 us to 90.0 us for most): the queue is empty now "
            "and then.");
  EXPECT_EQ(lead(20'000, 20'000),
            "  Kernels start 20.0 us after their launch (median; 20.0 us to 90.0 us for most): the CPU is ahead of the "
            "GPU.");
  EXPECT_THAT(lead(-5'000, 0), HasSubstr("start 0 ns after their launch (median; -5.00 us to 90.0 us"));
  EXPECT_THAT(lead(-5'000, -1), HasSubstr("start 1 ns before their launch returns (median; -90.0 us to 5.00 us"));
  report.verdict.steps_by_bound = {{analyze::Bound::kSync, 38}};
  EXPECT_THAT(text_of(report), Not(HasSubstr("each looked at alone"))) << "all are alike";
}

TEST(FindingsText, ABasisIsNamedWhereThereAreStepsAndASaving) {
  analyze::Report report = distinct_report();
  report.source.process_count = 1;
  report.findings.resize(1);
  report.findings[0].saving_step_expected_ns.reset();
  const auto basis = [&] {
    const std::string text = whole_text(report, {.width = 300});
    const std::size_t at = text.find("  saves: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(
      basis(),
      "  saves: what the run takes less when it is re-timed with the change. Percentages are of 3.21 ms, the mean "
      "step. A range: the advice may reach more or less. `turnpike whatif` tries other changes.");
  EXPECT_THAT(text_of(report), Not(HasSubstr("All of these")));
  const std::string plain =
      "  saves: what the run takes less when it is re-timed with the change. A range: the advice may reach more or "
      "less. `turnpike whatif` tries other changes.";
  report.findings[0].saving_pct = 0;
  EXPECT_EQ(basis(), plain);
  report.findings[0].saving_pct = 5;
  report.findings[0].saving_step_ns.reset();
  EXPECT_EQ(basis(), plain);
  report.findings[0].saving_step_ns = 50;
  report.steps.reset();
  EXPECT_EQ(basis(), plain);
  EXPECT_THAT(text_of(report), HasSubstr("The title of the first finding; saves 50 ns (5 %)"));
  report.findings.push_back(report.findings[0]);
  EXPECT_THAT(text_of(report), HasSubstr("All of these together: up to 41 % of the time."));
  report.saving_pct_all.reset();
  EXPECT_THAT(text_of(report), Not(HasSubstr("All of these")));
  report.verdict.gpu_busy_pct.reset();
  EXPECT_THAT(text_of(report), Not(HasSubstr("WHAT TO DO")));
}

TEST(FindingsText, ASavingIsWhatIsExpectedThenItsRangeAndItsReason) {
  analyze::Report report = distinct_report();
  const auto text = [&] { return whole_text(report, {.width = 300}); };
  EXPECT_THAT(text(), HasSubstr("; saves 929 us a step (29 %; 717 us to 1.16 ms)"));
  EXPECT_THAT(text(), HasSubstr("     gain  the reason of the first range\n"));
  report.findings[0].saving_step_low_ns = 0;
  EXPECT_THAT(text(), HasSubstr("; saves 929 us a step (29 %; up to 1.16 ms)"));
  report.findings[0].saving_reason.clear();
  EXPECT_THAT(text(), Not(HasSubstr("     gain  the reason")));
}

TEST(RangesText, OneAloneIsNotShown) {
  analyze::Report report = distinct_report();
  report.ranges.resize(1);
  EXPECT_THAT(text_of(report), Not(HasSubstr("NVTX RANGES")));
}

TEST(FindingsText, TheLargestSavingIsTheBasisWhereverItStands) {
  analyze::Report report = distinct_report();
  report.source.process_count = 2;
  report.findings.resize(3);
  for (analyze::Finding& finding : report.findings) finding.superseded_by.reset();
  report.findings[0].saving_pct.reset();
  report.findings[1].saving_pct = 0.25;
  report.findings[1].saving_step_ns = 10'000;
  report.findings[2].saving_pct = 0.5;
  report.findings[2].saving_step_ns = 30'000;
  EXPECT_THAT(whole_text(report, {.width = 300}),
              HasSubstr("Percentages are of 6.00 ms, the mean step, on the rank that would gain most."));
  std::swap(report.findings[0], report.findings[2]);
  EXPECT_THAT(whole_text(report, {.width = 300}), HasSubstr("Percentages are of 6.00 ms"));
}

}  // namespace
}  // namespace turnpike::report
