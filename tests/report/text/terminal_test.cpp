// The report as text: what it says, and that it fits.
#include "report/text/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "report/golden.h"
#include "report/sample_report.h"
#include "report/text/text_width.h"
#include "report/whole_text.h"

namespace turnpike::report {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_fits(const analyze::Report& report, std::size_t width) {
  for (const std::string& line : lines_of(whole_text(report, {.width = width}))) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(cleaned(line), line) << "a line that a terminal would obey";
  }
}

TEST(Terminal, SaysEverythingOfAnOrdinaryRun) {
  expect_golden(whole_text(ordinary_report(), {}), "ordinary.txt");
}

TEST(Terminal, SaysThatAnEmptyRunIsEmpty) {
  expect_golden(whole_text(analyze::Report{}, {}), "empty.txt");
}

TEST(Terminal, NeverWiderThanItsWidthWhateverTheNames) {
  for (const std::size_t width : {40u, 60u, 80u, 100u}) expect_fits(hostile_report(), width);
  for (const std::size_t width : {40u, 60u, 80u}) expect_fits(ordinary_report(), width);
}

TEST(Terminal, NarrowerThanReadableIsNotTried) {
  EXPECT_EQ(whole_text(ordinary_report(), {.width = 1}), whole_text(ordinary_report(), {.width = 40}));
}

TEST(Terminal, ColourOnlyWhereAsked) {
  EXPECT_THAT(whole_text(ordinary_report(), {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(whole_text(ordinary_report(), {.has_colour = true}), HasSubstr("\x1b[1mTRANSFERS\x1b[0m\n"));
}

TEST(Terminal, TopLimitsTheRowsAndSaysHowManyAreLeft) {
  const std::string text = whole_text(ordinary_report(), {.top = 1});
  EXPECT_THAT(text, HasSubstr("train.py:23"));
  EXPECT_THAT(text, Not(HasSubstr("hooks.py:8")));
  EXPECT_THAT(text, HasSubstr("1 more: --top 2 shows them all"));
}

TEST(Terminal, LinkIsSaidToBeUnknownWhereItWasNotMeasured) {
  analyze::Report report = ordinary_report();
  total_of(report, analyze::Direction::kHostToDevice).link_gbps.reset();
  EXPECT_THAT(whole_text(report, {}), HasSubstr("turnpike bench link"));
  total_of(report, analyze::Direction::kHostToDevice).link_gbps = 55;
  total_of(report, analyze::Direction::kDeviceToHost).link_gbps = 55;
  EXPECT_THAT(whole_text(report, {}), Not(HasSubstr("turnpike bench link")));
}

// What the text says below the table of a link of 55 GB/s.
std::string link_note(std::optional<analyze::LinkSource> source, const std::string& basis = "") {
  analyze::Report report = ordinary_report();
  for (const auto direction : {analyze::Direction::kHostToDevice, analyze::Direction::kDeviceToHost}) {
    total_of(report, direction).link_gbps = 55;
    total_of(report, direction).link_source = source;
    total_of(report, direction).link_basis = basis;
  }
  const std::string text = whole_text(report, {.width = 400});
  const auto start = text.find("  of the link: ");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

TEST(Terminal, ALinkThatWasNotMeasuredIsSaidToBeComputedAndFromWhat) {
  using analyze::LinkSource;
  EXPECT_EQ(link_note(LinkSource::kMeasured), "");
  EXPECT_THAT(link_note(LinkSource::kLearnt), HasSubstr("the best that large page-locked copies of this run reached"));
  EXPECT_THAT(link_note(LinkSource::kGeneration, "PCIe 4 x16"),
              HasSubstr("55.0 GB/s: typical of PCIe 4 x16, not measured here. Run `turnpike bench link` once"));
  EXPECT_THAT(link_note(LinkSource::kModel, "PCIe 5 x16"),
              HasSubstr("55.0 GB/s: typical of PCIe 5 x16, which GPUs of this model have; not measured here"));
}

TEST(Terminal, FilesThatShareANameAreToldApartByTheirPaths) {
  analyze::Report report = ordinary_report();
  report.sites[1].site = report.sites[0].site;
  report.sites[1].file = "/b/train.py";
  report.sites[1].line = 23;
  EXPECT_THAT(whole_text(report, {}), HasSubstr("/b/train.py:23"));
}

TEST(Terminal, TellsOfOneLineOnlyTheFindingThatLeads) {
  analyze::Report report = ordinary_report();
  report.findings[1].superseded_by = report.findings[0].rule;
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr(report.findings[0].title));
  EXPECT_THAT(text, Not(HasSubstr(report.findings[1].title)));
  EXPECT_THAT(text, Not(HasSubstr("All of these")));
}

analyze::Report without_findings(analyze::Bound bound_by) {
  analyze::Report report = ordinary_report();
  report.findings.clear();
  report.saving_pct_all.reset();
  report.verdict.bound_by = bound_by;
  report.verdict.gpu_busy_pct = 31;
  report.verdict.exposed_transfer_pct = 22;
  report.verdict.idle = analyze::IdleShares{
      .copies_pct = 10, .syncs_pct = 9, .input_pct = 8, .launch_pct = 15, .quiet_pct = 7, .unrecorded_pct = 5};
  report.verdict.exposed_collective_pct = 6;
  return report;
}

// Wrapped lines are one.
std::string advice_in(const analyze::Report& report) {
  std::string text = whole_text(report, {});
  text = text.substr(text.find("WHAT TO DO"));
  text = text.substr(0, text.find("TRANSFERS"));
  for (std::size_t at = 0; (at = text.find("\n  ")) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

TEST(Terminal, ExplainsEachVerdictThatNoFindingBelongsTo) {
  for (const auto& [bound_by, reason] : std::map<analyze::Bound, std::string>{
           {analyze::Bound::kGpu, "The GPU computes nearly all the time"},
           {analyze::Bound::kTransfer, "The time is in the transfers below"},
           {analyze::Bound::kSync, "The CPU stands still in synchronisations and allocations"},
           {analyze::Bound::kLaunch, "The GPU waits for the CPU to issue its work"},
           {analyze::Bound::kInput, "For 8 % of the time the GPU waits for the next batch"},
           {analyze::Bound::kHost,
            "For 7 % of the time the GPU has nothing to do because the program is busy on the CPU"},
           {analyze::Bound::kCommunication, "For 6 % of the time the GPU runs only collectives"},
           {analyze::Bound::kUnrecorded, "For 5 % of the time the GPU waits for work that is not in this recording"},
           {analyze::Bound::kMixed, "No single cause stands out."},
       }) {
    const std::string text = advice_in(without_findings(bound_by));
    EXPECT_THAT(text, HasSubstr("Nothing was found that is known to gain 1 % of a step or more. " + reason));
    EXPECT_THAT(text, Not(HasSubstr("No steps were found")));
  }
}

TEST(Terminal, SaysThatCopiesWithoutComputingBesideThemCannotBeHidden) {
  analyze::Report report = without_findings(analyze::Bound::kTransfer);
  report.verdict.gpu_busy_pct = 2;
  report.verdict.exposed_transfer_pct = 97;
  EXPECT_THAT(advice_in(report), HasSubstr("there is too little computing (2 %) to hide them behind"));
}

TEST(Terminal, SaysWhereTheProgramIsWhenItIsBusyWithoutCuda) {
  analyze::Report report = without_findings(analyze::Bound::kHost);
  report.verdict.idle->quiet_pct = 60;
  EXPECT_THAT(advice_in(report), HasSubstr("For 60 % of the time the GPU has nothing to do because the program is busy "
                                           "on the CPU without calling CUDA, mostly at train.py:31 (40 %)"));
}

TEST(Terminal, AsksForStepsAndForALongerRecordingWhereTheyAreMissing) {
  analyze::Report report = without_findings(analyze::Bound::kTransfer);
  report.steps.reset();
  for (analyze::Site& site : report.sites) site.missing_call = analyze::MissingCall::kEarlier;
  const std::string text = advice_in(report);
  EXPECT_THAT(text, HasSubstr("gain 1 % of the time or more"));
  EXPECT_THAT(text, HasSubstr("started by calls that are not in the file"));
  EXPECT_THAT(text, HasSubstr("No steps were found"));
}

TEST(Terminal, ExplainsTheVerdictBesideFindingsOfUnknownGain) {
  analyze::Report report = without_findings(analyze::Bound::kLaunch);
  report.findings = ordinary_report().findings;
  for (analyze::Finding& finding : report.findings) finding.saving_pct.reset();
  EXPECT_THAT(advice_in(report), HasSubstr("Nothing else was found"));
}

TEST(Terminal, SaysOfKernelsThatStartInsideTheirLaunchThatTheyDo) {
  analyze::Report report = ordinary_report();
  report.verdict.launch_lead = analyze::Spread{.p10_ns = -16'300, .median_ns = -2670, .p90_ns = -919};
  EXPECT_THAT(whole_text(report, {}),
              HasSubstr("Kernels start 2.67 us before their launch returns (median; 919 ns to 16.3 us for most)"));
  report.verdict.launch_lead = analyze::Spread{.p10_ns = 3000, .median_ns = 40'000, .p90_ns = 75'000};
  EXPECT_THAT(whole_text(report, {}), ContainsRegex("queue is empty\n? *now and then"));
}

TEST(Terminal, SaysThatTheCallOfATransferIsNotInTheFileAndWhereItLikelyStands) {
  analyze::Report report = ordinary_report();
  analyze::Site cut;
  cut.site = "call not in file";
  cut.direction = report.sites[0].direction;
  cut.src_kind = report.sites[0].src_kind;
  cut.dst_kind = report.sites[0].dst_kind;
  cut.streams = {7, 15};
  cut.missing_call = analyze::MissingCall::kEarlier;
  cut.count = 2;
  cut.bytes = 2000;
  report.sites.push_back(cut);
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr("pageable > device, streams 7, 15\n"));
  EXPECT_THAT(text, HasSubstr("the call that started them is not in the file: it was made before those that are\n"));
  EXPECT_THAT(text, HasSubstr("all of the 938 like them whose call is known came from train.py:23\n"));
  EXPECT_THAT(text, Not(HasSubstr("operator unknown")));

  report.sites.back().missing_call = analyze::MissingCall::kUnknown;
  report.sites.back().streams = {8};
  const std::string other = whole_text(report, {});
  EXPECT_THAT(other, HasSubstr("the call that started them is not in the file\n"));
  EXPECT_THAT(other, Not(HasSubstr("whose call is known")));
}

// What stands in the backward pass of a model: no Python, but the forward line is known.
void make_native_backward(analyze::Site& site) {
  site.site = "ConvolutionBackward0 (libtorch_cpu.so)";
  site.file.reset();
  site.line.reset();
  site.function = "ConvolutionBackward0";
  site.phase = analyze::Phase::kBackward;
  site.op = "aten::convolution_backward";
}

TEST(Terminal, BackwardWorkWithoutPythonStandsAtItsForwardLine) {
  analyze::Report report = ordinary_report();
  make_native_backward(report.sites[0]);
  report.sites[0].forward_site = "mnist.py:30";
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr("  1  mnist.py:30 (bwd)  "));
  EXPECT_THAT(text, HasSubstr("aten::convolution_backward in ConvolutionBackward0 (libtorch_cpu.so), backward pass"));
  EXPECT_THAT(text, Not(HasSubstr("made by the forward line mnist.py:30")));
  EXPECT_THAT(text, HasSubstr("(bwd): made by the backward pass of that line."));
}

TEST(Terminal, BackwardSynchronisationsStandAtTheirForwardLineToo) {
  analyze::Report report = ordinary_report();
  analyze::SyncSite& sync = report.sync_sites[0];
  sync.file.reset();
  sync.line.reset();
  sync.phase = analyze::Phase::kBackward;
  sync.forward_site = "model.py:7";
  EXPECT_THAT(whole_text(report, {}), HasSubstr("  1  model.py:7 (bwd)  "));
}

TEST(Terminal, NativePlacesAreTheirFunctionAndNameTheModuleBelow) {
  analyze::Report report = ordinary_report();
  make_native_backward(report.sites[0]);
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr("  1  ConvolutionBackward0  "));
  EXPECT_THAT(text, HasSubstr("in ConvolutionBackward0 (libtorch_cpu.so), backward pass"));
  EXPECT_THAT(text, Not(HasSubstr("(bwd)")));
}

TEST(Terminal, APlaceTooLongForItsColumnStandsWholeBelowTheRow) {
  analyze::Report report = ordinary_report();
  report.sites[0].site = "train_the_transformer_language_model.py:1234";
  const std::string text = whole_text(report, {});
  EXPECT_THAT(text, HasSubstr("\n      train_the_transformer_language_model.py:1234\n"));
  report.sites[0].site = "train_model.py:12";
  EXPECT_THAT(whole_text(report, {}), Not(HasSubstr("\n      train_model.py:12\n")));
}

TEST(Terminal, BlockedIsCounted) {
  analyze::Report report = ordinary_report();
  EXPECT_THAT(whole_text(report, {}), HasSubstr(", CPU blocked every time\n"));
  report.sites[0].blocked_count = 1;
  EXPECT_THAT(whole_text(report, {}), HasSubstr(", CPU blocked once\n"));
  report.sites[0].blocked_count = 900;
  EXPECT_THAT(whole_text(report, {}), HasSubstr(", CPU blocked 900 times\n"));
  report.sites[0].blocked_count = 0;
  EXPECT_THAT(whole_text(report, {}), HasSubstr("pageable > device\n"));
}

TEST(Terminal, AProcessThatCouldNotBeRecordedIsALoss) {
  analyze::Report report = ordinary_report();
  report.losses.clear();
  report.source.unusable = {"The driver is too old."};
  EXPECT_THAT(whole_text(report, {}), HasSubstr("a process could not be recorded: The driver is too old."));
  EXPECT_THAT(whole_text(report, {}), Not(HasSubstr("nothing was lost")));
}

TEST(Terminal, APythonThatIsNotKnownIsNamed) {
  analyze::Report report = ordinary_report();
  report.losses = {{"python_unknown", 7}};
  report.source.versions["unknown_python"] = "3.16.0\x1b[31m";
  const std::string text = whole_text(report, {.width = 300});
  EXPECT_THAT(text, HasSubstr("7 x python_unknown: Turnpike does not know"));
  EXPECT_THAT(text, HasSubstr("The recorded one is Python 3.16.0"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Terminal, NothingLostIsSaid) {
  analyze::Report report = ordinary_report();
  report.losses.clear();
  EXPECT_THAT(whole_text(report, {}), HasSubstr("nothing was lost"));
}

TEST(Terminal, TheHeaderHasAFormForEachDetailAndNumberOfProcesses) {
  const auto header = [](std::size_t processes, const std::string& detail) {
    analyze::Report report;
    report.span_ns = 5'000;
    report.source.process_count = processes;
    report.source.detail = detail;
    const std::string text = whole_text(report, {});
    const std::size_t at = text.find("  recorded  ");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(header(0, ""), "  recorded  5.00 us in 0 processes");
  EXPECT_EQ(header(1, "full"), "  recorded  5.00 us in 1 process, everything (--detail full)");
  EXPECT_EQ(header(2, "transfers"),
            "  recorded  5.00 us in 2 processes, transfers without kernels (--detail transfers)");
  EXPECT_EQ(header(2, "other"), "  recorded  5.00 us in 2 processes, detail other");
}

TEST(Terminal, AStepIsOfTheCpuAndOfTheGpuWhereTheCpuRunsAhead) {
  analyze::Report report;
  report.steps = analyze::Steps{.count = 60, .median_ns = 66'500, .source = analyze::StepSource::kBackward};
  EXPECT_THAT(whole_text(report, {}), HasSubstr("60, each 66.5 us (median), found by backward pass\n"));
  report.steps->device_median_ns = 1'750'000;
  EXPECT_THAT(
      whole_text(report, {.width = 120}),
      HasSubstr("60, each 66.5 us (median) on the CPU, which runs ahead; 1.75 ms on the GPU, found by backward"));
  report.steps->device_median_ns = 70'000;
  EXPECT_THAT(whole_text(report, {}), HasSubstr("60, each 66.5 us (median), found by backward pass\n"));
}

TEST(Terminal, PathsAndCommandsAreCutInTheirMiddleToOneLine) {
  analyze::Report report = ordinary_report();
  report.source.paths = {std::string(28, 'p')};
  report.source.program = std::string(28, 'c');
  const std::string whole = whole_text(report, {.width = 40});
  EXPECT_THAT(whole, HasSubstr("\n  run       " + std::string(28, 'p') + "\n"));
  EXPECT_THAT(whole, HasSubstr("\n  program   " + std::string(28, 'c') + "\n"));
  report.source.paths[0] += "p";
  report.source.program += "c";
  const std::string cut = whole_text(report, {.width = 40});
  EXPECT_THAT(cut, HasSubstr("\n  run       pppppppp...ppppppppppppppppp\n"));
  EXPECT_THAT(cut, HasSubstr("\n  program   cccccccc...ccccccccccccccccc\n"));
}

TEST(Terminal, TheVerdictNamesWhatIsKnown) {
  analyze::Report report;
  report.verdict.bound_by = analyze::Bound::kMixed;
  report.verdict.exposed_transfer_pct = 7;
  EXPECT_THAT(whole_text(report, {}), HasSubstr("\nVERDICT  limited by several things.\n"));
  report.verdict = {};
  report.verdict.bound_by = analyze::Bound::kGpu;
  report.verdict.gpu_idle_pct = 3;
  EXPECT_THAT(whole_text(report, {}), HasSubstr("\nVERDICT  gpu-bound.\n"));
}

TEST(Terminal, FilesThatCouldNotBeReadAreALossWithItsSentence) {
  analyze::Report report;
  report.losses = {{"unreadable_file", 2}};
  EXPECT_THAT(
      whole_text(report, {.width = 300}),
      HasSubstr("  2 x unreadable_file: Files that were given could not be read at all, so what their processes "
                "did is missing. What is wrong with each is said beside this.\n"));
}

}  // namespace
}  // namespace turnpike::report
