// The picture of a step: which rows it has, and how many bytes they may take.
#include "report/html/step_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/html/patterns.h"

namespace turnpike::report::html {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStepNs = 1'000'000;

Event event_at(std::int64_t start_ns, std::uint64_t duration_ns, Class event_class, std::uint16_t site = 0) {
  return {.start_ns = start_ns, .duration_ns = duration_ns, .site = site, .event_class = event_class};
}

Lane lane_of(LaneKind kind, std::string title, std::vector<Event> events) {
  return {.kind = kind, .title = std::move(title), .events = std::move(events)};
}

struct DrawnProcess {
  std::vector<Lane> lanes;
  std::optional<analyze::Interval> median_step;
};

DrawnProcess step_of(std::vector<Lane> lanes) {
  return {std::move(lanes), analyze::Interval{0, kStepNs}};
}

// Each event is a block.
StepPicture picture_of(const DrawnProcess& process) {
  PictureMaker maker;
  if (process.median_step) maker.show_step(*process.median_step);
  for (const Lane& lane : process.lanes) {
    maker.begin_lane(lane);
    for (const Event& event : lane.events) maker.add_block({&event, 1});
    maker.end_lane();
  }
  return std::move(maker).take();
}

std::vector<std::string> titles_of(const StepPicture& picture) {
  std::vector<std::string> titles;
  for (const PictureRow& row : picture.rows) titles.push_back(row.title);
  return titles;
}

TEST(StepPicture, ShowsTheLinesOfPythonBelowTheirThread) {
  Sites sites;
  analyze::Where where;
  where.site = "train.py:42";
  const std::uint16_t site = sites.number_of(where, {});
  const StepPicture picture = picture_of(
      step_of({lane_of(LaneKind::kHost, "main thread", {event_at(0, 10'000, Class::kLaunch)}),
               lane_of(LaneKind::kPython, "main thread",
                       {event_at(0, 600'000, Class::kPython, site), event_at(600'000, 1, Class::kPython)})}));
  EXPECT_THAT(titles_of(picture), ElementsAre("main thread", "Python of main thread"));
  const std::string html = html_of(picture, sites);
  EXPECT_THAT(html, HasSubstr("class=\"p-python\""));
  EXPECT_THAT(html, HasSubstr(">train.py:42</text>"));
  EXPECT_THAT(html, HasSubstr("class=\"p-cut\" fill=\"#ffffff\" x=\"60.0%\""));
  EXPECT_THAT(html, HasSubstr("lines of Python"));
}

TEST(StepPicture, ShowsOnlyWhatLiesInTheStep) {
  const StepPicture picture =
      picture_of(step_of({lane_of(LaneKind::kHost, "main thread",
                                  {event_at(-20, 20, Class::kCall), event_at(0, 10, Class::kCall),
                                   event_at(kStepNs - 1, 10, Class::kCall), event_at(kStepNs + 9, 10, Class::kCall)}),
                          lane_of(LaneKind::kStream, "stream 7: kernels", {event_at(kStepNs, 10, Class::kKernel)})}));
  EXPECT_THAT(titles_of(picture), ElementsAre("main thread"));
  EXPECT_EQ(picture.rows[0].spans.size(), 2u);
}

TEST(StepPicture, ShowsAllOfARunWithoutSteps) {
  const StepPicture picture = picture_of({{lane_of(LaneKind::kHost, "main thread", {event_at(5, 10, Class::kCall)}),
                                           lane_of(LaneKind::kStream, "stream 7: kernels",
                                                   {event_at(0, 1, Class::kKernel), event_at(30, 10, Class::kKernel)})},
                                          std::nullopt});
  EXPECT_FALSE(picture.is_step);
  EXPECT_EQ(picture.window.start_ns, 0);
  EXPECT_EQ(picture.window.end_ns, 40);
  EXPECT_THAT(titles_of(picture), ElementsAre("main thread", "stream 7: kernels"));
  EXPECT_EQ(picture.rows[1].spans.size(), 2u);
}

TEST(StepPicture, WithoutSamplesSaysNothingOfPython) {
  const StepPicture picture =
      picture_of(step_of({lane_of(LaneKind::kHost, "main thread", {event_at(0, 10'000, Class::kLaunch)})}));
  EXPECT_THAT(html_of(picture, {}), Not(HasSubstr("Python")));
}

TEST(StepPicture, LeavesOutPythonBeforeThreadsAndDevices) {
  std::vector<Lane> lanes;
  for (int thread = 0; thread < 10; ++thread) {
    const std::string title = "thread " + std::to_string(thread);
    lanes.push_back(lane_of(LaneKind::kHost, title, {event_at(0, 10'000, Class::kCall)}));
    lanes.push_back(lane_of(LaneKind::kPython, title, {event_at(0, 10'000, Class::kPython)}));
  }
  lanes.push_back(lane_of(LaneKind::kStream, "stream 7: kernels", {event_at(0, 10'000, Class::kKernel)}));
  const std::vector<std::string> titles = titles_of(picture_of(step_of(std::move(lanes))));
  EXPECT_EQ(titles.size(), 14u);
  EXPECT_EQ(titles[1], "Python of thread 0");
  EXPECT_EQ(titles.back(), "stream 7: kernels");
}

TEST(StepPicture, PutsWaitsForOtherRanksBehindWhatTheDeviceWaitsFor) {
  Lane state = lane_of(LaneKind::kState, "GPU 0: what it waits for", {event_at(0, 10'000, Class::kIdleSync)});
  Lane stream = lane_of(LaneKind::kStream, "stream 7: kernels", {event_at(10'000, 10'000, Class::kKernel)});
  state.device = stream.device = 0;
  StepPicture picture = picture_of(step_of({state, stream}));
  add_row({"waits", LaneKind::kState, 0, {{-10, 5, Class::kIdleRank, 0}, {kStepNs, kStepNs + 5, Class::kIdleRank, 0}}},
          picture);
  EXPECT_THAT(titles_of(picture), ElementsAre("GPU 0: what it waits for", "waits", "stream 7: kernels"));
  EXPECT_EQ(picture.rows[1].spans.size(), 1u);
  add_row({"later", LaneKind::kState, 0, {{kStepNs, kStepNs + 5, Class::kIdleRank, 0}}}, picture);
  EXPECT_EQ(picture.rows.size(), 3u) << "nothing of it lies in the step";
}

TEST(StepPicture, TellsCausesOfIdleTimeApartByPatternWithALegend) {
  StepPicture picture{.window = {0, 1'000'000}, .is_step = true, .rows = {}};
  PictureRow row{"GPU 0: what it waits for", LaneKind::kState, 0, {}};
  const Class causes[] = {
      Class::kIdleCopy,        Class::kIdleSync,    Class::kIdleAllocation,     Class::kIdleInput,
      Class::kIdleLaunch,      Class::kIdleUnknown, Class::kIdleBetweenKernels, Class::kIdleUnrecorded,
      Class::kIdleOtherDevice, Class::kIdleRank};
  std::int64_t at_ns = 0;
  for (const Class cause : causes) {
    row.spans.push_back({at_ns, at_ns + 100'000, cause, 0});
    at_ns += 105'000;
  }
  picture.rows = {row};
  const std::string html = html_of(picture, Sites());
  std::set<std::string> fills;
  for (const Class cause : causes) {
    const std::string fill = wait_fill(cause);
    fills.insert(fill);
    EXPECT_THAT(html, HasSubstr("<rect class=\"p-wait\" fill=\"" + fill + "\" x=")) << "drawn";
    EXPECT_THAT(html, HasSubstr("fill=\"" + fill + "\" width=\"26\"")) << "in the legend";
    const std::string id = fill.substr(5, fill.size() - 6);
    EXPECT_THAT(pattern_definitions(), HasSubstr("<pattern id=\"" + id + "\""));
  }
  EXPECT_EQ(fills.size(), std::size(causes));
  EXPECT_THAT(html, HasSubstr("</svg> GPU idle: next batch; <svg"));
  EXPECT_THAT(html, Not(HasSubstr("the CPU waits")));
}

TEST(StepPicture, HasAnAxisOfRoundTimes) {
  DrawnProcess process = step_of({lane_of(LaneKind::kHost, "main thread", {event_at(0, 10'000, Class::kCall)})});
  process.median_step = analyze::Interval{0, 17'800'000};
  const std::string html = html_of(picture_of(process), {});
  for (const char* tick : {">0</text>", ">5 ms</text>", ">10 ms</text>", ">15 ms</text>"}) {
    EXPECT_THAT(html, HasSubstr(tick));
  }
  EXPECT_THAT(html, Not(HasSubstr("17.8 ms</text>")));
}

// A notebook holds less than 300 kB, whatever the program does.
TEST(StepPicture, TakesNoMoreBytesForMoreEvents) {
  const auto size_with = [](int events) {
    std::vector<Event> python;
    for (int i = 0; i < events; ++i) python.push_back(event_at(i * kStepNs / events, 3, Class::kPython));
    return html_of(picture_of(step_of({lane_of(LaneKind::kPython, "main thread", std::move(python))})), {}).size();
  };
  EXPECT_LT(size_with(1'000), 200'000u);
  EXPECT_LE(size_with(100'000), size_with(1'000));
}

}  // namespace
}  // namespace turnpike::report::html
