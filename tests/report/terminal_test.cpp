// The report as text: what it says, and that it fits.
#include "report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "golden.h"
#include "report/text_width.h"
#include "sample_report.h"

namespace turnpike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_fits(const analyze::Report& report, std::size_t width) {
  for (const std::string& line : lines_of(to_text(report, {.width = width}))) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(cleaned(line), line) << "a line that a terminal would obey";
  }
}

TEST(Terminal, SaysEverythingOfAnOrdinaryRun) {
  expect_golden(to_text(ordinary_report(), {}), "ordinary.txt");
}

TEST(Terminal, SaysThatAnEmptyRunIsEmpty) {
  expect_golden(to_text(analyze::Report{}, {}), "empty.txt");
}

TEST(Terminal, NeverWiderThanItsWidthWhateverTheNames) {
  for (const std::size_t width : {60u, 80u, 100u}) expect_fits(hostile_report(), width);
  expect_fits(ordinary_report(), 60);
}

TEST(Terminal, NarrowerThanReadableIsNotTried) {
  EXPECT_EQ(to_text(ordinary_report(), {.width = 1}), to_text(ordinary_report(), {.width = 60}));
}

TEST(Terminal, ColourOnlyWhereAsked) {
  EXPECT_THAT(to_text(ordinary_report(), {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(ordinary_report(), {.has_colour = true}), HasSubstr("\x1b[1mTRANSFERS\x1b[0m\n"));
}

TEST(Terminal, TopLimitsTheRowsAndSaysHowManyAreLeft) {
  const std::string text = to_text(ordinary_report(), {.top = 1});
  EXPECT_THAT(text, HasSubstr("train.py:23"));
  EXPECT_THAT(text, Not(HasSubstr("hooks.py:8")));
  EXPECT_THAT(text, HasSubstr("1 more: --top 2 shows them all"));
}

TEST(Terminal, LinkIsSaidToBeUnknownWhereItWasNotMeasured) {
  analyze::Report report = ordinary_report();
  total_of(report, analyze::Direction::kHostToDevice).link_gbps.reset();
  EXPECT_THAT(to_text(report, {}), HasSubstr("turnpike bench link"));
  total_of(report, analyze::Direction::kHostToDevice).link_gbps = 55;
  total_of(report, analyze::Direction::kDeviceToHost).link_gbps = 55;
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("turnpike bench link")));
}

TEST(Terminal, FilesThatShareANameAreToldApartByTheirPaths) {
  analyze::Report report = ordinary_report();
  report.sites[1].site = report.sites[0].site;
  report.sites[1].file = "/b/train.py";
  report.sites[1].line = 23;
  EXPECT_THAT(to_text(report, {}), HasSubstr("/b/train.py:23"));
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
  const std::string text = to_text(report, {});
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
  EXPECT_THAT(to_text(report, {}), HasSubstr("  1  model.py:7 (bwd)  "));
}

TEST(Terminal, NativePlacesAreTheirFunctionAndNameTheModuleBelow) {
  analyze::Report report = ordinary_report();
  make_native_backward(report.sites[0]);
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, HasSubstr("  1  ConvolutionBackward0  "));
  EXPECT_THAT(text, HasSubstr("in ConvolutionBackward0 (libtorch_cpu.so), backward pass"));
  EXPECT_THAT(text, Not(HasSubstr("(bwd)")));
}

TEST(Terminal, APlaceTooLongForItsColumnStandsWholeBelowTheRow) {
  analyze::Report report = ordinary_report();
  report.sites[0].site = "train_the_transformer_language_model.py:1234";
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, HasSubstr("\n      train_the_transformer_language_model.py:1234\n"));
  report.sites[0].site = "train_model.py:12";
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("\n      train_model.py:12\n")));
}

TEST(Terminal, BlockedIsCounted) {
  analyze::Report report = ordinary_report();
  EXPECT_THAT(to_text(report, {}), HasSubstr(", CPU blocked every time\n"));
  report.sites[0].blocked_count = 1;
  EXPECT_THAT(to_text(report, {}), HasSubstr(", CPU blocked once\n"));
  report.sites[0].blocked_count = 900;
  EXPECT_THAT(to_text(report, {}), HasSubstr(", CPU blocked 900 times\n"));
  report.sites[0].blocked_count = 0;
  EXPECT_THAT(to_text(report, {}), HasSubstr("pageable > device\n"));
}

TEST(Terminal, AProcessThatCouldNotBeRecordedIsALoss) {
  analyze::Report report = ordinary_report();
  report.losses.clear();
  report.source.unusable = {"The driver is too old."};
  EXPECT_THAT(to_text(report, {}), HasSubstr("a process could not be recorded: The driver is too old."));
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("nothing was lost")));
}

TEST(Terminal, NothingLostIsSaid) {
  analyze::Report report = ordinary_report();
  report.losses.clear();
  EXPECT_THAT(to_text(report, {}), HasSubstr("nothing was lost"));
}

}  // namespace
}  // namespace turnpike::report
