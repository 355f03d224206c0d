// How figures are put into words, at the edges between units, and what counts at a place.
#include "analyze/rules/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::CallKind;
using trace::MemoryKind;

TEST(Measure, SaysTheMeanOfSizes) {
  EXPECT_EQ(mean_bytes_text({.count = 4, .bytes = 10'000}), "2.50 kB");
  EXPECT_EQ(mean_bytes_text({}), "0 B");
}

Played of_steps(int steps) {
  StepProgram program;
  program.steps(steps, [&](int) { program.kernel(93 * kUs); });
  return Played(std::move(program));
}

TEST(Measure, SaysHowOftenAStep) {
  const Played played = of_steps(100);
  const auto said = [&](std::uint64_t count) { return times_a_step(played.model(), count); };
  EXPECT_EQ(said(1), "in 1 of 100 steps");
  EXPECT_EQ(said(94), "in 94 of 100 steps");
  EXPECT_EQ(said(95), "once a step");
  EXPECT_EQ(said(104), "once a step");
  EXPECT_EQ(said(105), "1.05 times a step");
  EXPECT_EQ(said(195), "1.95 times a step");
  EXPECT_EQ(said(196), "twice a step");
  EXPECT_EQ(said(204), "twice a step");
  EXPECT_EQ(said(206), "2.06 times a step");
  EXPECT_EQ(said(296), "3 times a step");
  EXPECT_EQ(said(300), "3 times a step");
  EXPECT_EQ(said(350), "3.50 times a step");
  EXPECT_EQ(said(2400), "24 times a step");
  EXPECT_EQ(time_a_step(played.model(), 250'000), "2.50 us a step");
}

TEST(Measure, SaysHowOftenInARunWithoutSteps) {
  StepProgram program;
  program.kernel(10 * kUs);
  const Played played(std::move(program));
  EXPECT_EQ(times_a_step(played.model(), 1), "once");
  EXPECT_EQ(times_a_step(played.model(), 12), "12 times");
  EXPECT_EQ(time_a_step(played.model(), 250'000), "250 us");
}

TEST(Measure, OnePercentOfTheStepMatters) {
  const Played played = of_steps(10);
  ASSERT_EQ(played.model().measured_step_ns(), 94'000);  // 93 and 1
  EXPECT_TRUE(matters(played.model(), 9400));
  EXPECT_FALSE(matters(played.model(), 9399));
}

TEST(Measure, RegularIsInHalfOfTheSteps) {
  StepProgram program;
  program.steps(7, [&](int) {
    program.kernel(50 * kUs);
    program.kernel(50 * kUs);
  });
  const Played played(std::move(program));
  EXPECT_TRUE(is_regular(played.model(), {0, 2, 4, 6}));
  EXPECT_FALSE(is_regular(played.model(), {0, 1, 2, 3, 4, 5}));  // two in each of three
}

TEST(Measure, RegularIsFiveTimesWithoutSteps) {
  StepProgram program;
  for (int i = 0; i < 6; ++i) program.kernel(10 * kUs);
  const Played played(std::move(program));
  EXPECT_TRUE(is_regular(played.model(), {0, 1, 2, 3, 4}));
  EXPECT_FALSE(is_regular(played.model(), {0, 1, 2, 3}));
}

// Each step: a pageable upload that waits in its call (5 + 20 + 3 us), a pinned upload, and a pinned download with a
// sync after it.
StepProgram copying() {
  StepProgram program;
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(3, [&](int) {
    program.upload({.stack = line,
                    .bytes = 100'000,
                    .duration_ns = 20 * kUs,
                    .host = MemoryKind::kPageable,
                    .wait = Wait::kInCall});
    program.upload({.stack = line, .bytes = 3000, .duration_ns = 7 * kUs});
    program.download({.stack = line, .bytes = 500, .duration_ns = 4 * kUs, .wait = Wait::kBehind});
    program.call(CallKind::kDeviceFree, line, "cudaFree", 9 * kUs);
  });
  return program;
}

SiteCalls site_with(const ProcessModel& model, Selection calls) {
  SiteCalls site{.facts = nullptr, .calls = std::move(calls)};
  find_copies(model, site);
  return site;
}

TEST(Measure, CountsTheCopiesOfADirection) {
  const Played played(copying());
  const SiteCalls site = site_with(played.model(), {0, 1, 2, 3, 4});
  const CopyCount& up = count_copies(site, Direction::kHostToDevice);
  EXPECT_EQ(up.count, 2u);
  EXPECT_EQ(up.bytes, 103'000u);
  EXPECT_EQ(up.device_ns, 27'000);
  EXPECT_EQ(up.host_ns, 28'000);
  EXPECT_EQ(up.pageable_count, 1u);
  const CopyCount& down = count_copies(site, Direction::kDeviceToHost);
  EXPECT_EQ(down.count, 1u);
  EXPECT_EQ(down.bytes, 500u);
  EXPECT_EQ(down.device_ns, 4000);
  // It begins 3 us behind its call, as the upload before it is done, and takes 4; the wait is over 5 later.
  EXPECT_EQ(down.host_ns, 12'000);
  EXPECT_EQ(down.pageable_count, 0u);
  EXPECT_THAT(copies_of(site, Direction::kHostToDevice), ElementsAre(0, 1));
  EXPECT_THAT(copies_of(site, Direction::kDeviceToHost), ElementsAre(2));
  EXPECT_THAT(copies_of(site, Direction::kPeerToPeer), IsEmpty());
}

TEST(Measure, TellsWhatHeldTheHost) {
  const Played played(copying());
  EXPECT_TRUE(is_held(played.model(), 0));
  EXPECT_FALSE(is_held(played.model(), 1));
  EXPECT_TRUE(is_held(played.model(), 2));
  EXPECT_FALSE(is_held(played.model(), 3));
  EXPECT_EQ(held_ns(played.model(), 0), 28'000);
  EXPECT_EQ(held_ns(played.model(), 1), 0);
  EXPECT_EQ(held_ns(played.model(), 2), 12'000);
}

TEST(Measure, TakesCallsByKindAndAddsUpTheirTime) {
  const Played played(copying());
  const Selection calls =
      calls_of(site_with(played.model(), {0, 1, 2, 3, 4}), played.model(), {CallKind::kDeviceFree, CallKind::kCopy});
  EXPECT_THAT(calls, ElementsAre(0, 1, 2, 4));
  EXPECT_EQ(duration_ns(played.model(), calls), 28'000 + 5000 + 5000 + 9000);
}

TEST(Measure, KnowsTheLinkOfTheDeviceThatCopies) {
  StepProgram program;
  program.steps(3, [&](int) {
    program.upload({.bytes = 2 * kMiB, .duration_ns = 100 * kUs, .device = 0});
    program.upload({.bytes = 1000, .duration_ns = 100 * kUs, .device = 1});
  });
  const Played played(std::move(program), 0);  // nothing was measured beforehand
  EXPECT_TRUE(is_link_known(played.model(), {0}, Direction::kHostToDevice));
  EXPECT_FALSE(is_link_known(played.model(), {1}, Direction::kHostToDevice));
  EXPECT_FALSE(is_link_known(played.model(), {0}, Direction::kDeviceToHost));
  EXPECT_FALSE(is_link_known(played.model(), {}, Direction::kHostToDevice));
}

// The rate of the best large page-locked copy, for each device and direction.
TEST(Links, AreLearnedFromTheBestLargeCopies) {
  StepProgram program;
  program.steps(3, [&](int) {
    program.upload({.bytes = 2'000'000, .duration_ns = 100 * kUs, .device = 0});
    program.upload({.bytes = 2'000'000, .duration_ns = 50 * kUs, .device = 0});
    program.upload({.bytes = 2'000'000, .duration_ns = 80 * kUs, .device = 0});
    program.upload({.bytes = (1 << 20) - 1, .duration_ns = 10 * kUs, .device = 0});  // says little
    program.upload({.bytes = 2'000'000, .duration_ns = 20 * kUs, .host = MemoryKind::kPageable, .device = 0});
    program.download({.bytes = 2'000'000, .duration_ns = 25 * kUs, .device = 0});
    program.upload({.bytes = 1 << 20, .duration_ns = 65'536, .device = 1});
    program.upload({.bytes = 2'000'000, .duration_ns = 4000 * kUs, .device = 3});
  });
  const Played played(std::move(program), 0);
  const ProcessModel& model = played.model();
  EXPECT_DOUBLE_EQ(*model.link_gbps(0, Direction::kHostToDevice), 40);
  EXPECT_DOUBLE_EQ(*model.link_gbps(0, Direction::kDeviceToHost), 80);
  EXPECT_DOUBLE_EQ(*model.link_gbps(1, Direction::kHostToDevice), 16);
  EXPECT_EQ(model.link_gbps(1, Direction::kDeviceToHost), std::nullopt);
  EXPECT_EQ(model.link_gbps(2, Direction::kHostToDevice), std::nullopt);
  EXPECT_EQ(model.link_gbps(0, Direction::kDeviceToDevice), std::nullopt);
  EXPECT_EQ(model.link_time_ns(0, Direction::kHostToDevice, 1'000'000), 26'200);  // and 1.2 us to start
  EXPECT_EQ(model.link_time_ns(1, Direction::kHostToDevice, 1'000'000), 63'700);
  EXPECT_EQ(model.link_time_ns(1, Direction::kDeviceToHost, 1'000'000), std::nullopt);
  EXPECT_EQ(model.link_time_ns(3, Direction::kHostToDevice, 1'000'000), 2'001'200) << "slow, and known";
}

TEST(Links, ThatWereMeasuredStandBeforeWhatTheRunReached) {
  StepProgram program;
  program.builder().process().metadata["host"] = "box";
  program.steps(3, [&](int) {
    program.upload({.bytes = 1 << 20, .duration_ns = 20 * kUs});
    program.download({.bytes = 1 << 20, .duration_ns = 20 * kUs});
  });
  const LoadedProcess loaded = program.builder().take();
  RunSums sums;
  ProcessAnalysis analysis(sums, loaded.process, loaded.timeline);
  const ProcessModel model = analysis.model(analysis.steps(), [](const std::string& device, const std::string& host) {
    EXPECT_EQ(device, "GPU");
    EXPECT_EQ(host, "box");
    return LinkRate{.h2d_gbps = 12.5, .d2h_gbps = {}};
  });
  EXPECT_DOUBLE_EQ(*model.link_gbps(0, Direction::kHostToDevice), 12.5);
  EXPECT_DOUBLE_EQ(*model.link_gbps(0, Direction::kDeviceToHost), 1048576 / 20e3);
  EXPECT_EQ(model.link_time_ns(0, Direction::kHostToDevice, 125'000), 11'200);
}

TEST(Links, MayBeSlowerThanAGigabyteASecondButNotWithoutARate) {
  StepProgram program;
  program.steps(3, [&](int) { program.upload({.bytes = 1 << 20, .duration_ns = 20 * kUs}); });
  const LoadedProcess loaded = program.builder().take();
  const auto time_at = [&](double gbps) {
    RunSums sums;
    ProcessAnalysis analysis(sums, loaded.process, loaded.timeline);
    return analysis
        .model(analysis.steps(),
               [gbps](const std::string&, const std::string&) { return LinkRate{.h2d_gbps = gbps, .d2h_gbps = {}}; })
        .link_time_ns(0, Direction::kHostToDevice, 1000);
  };
  EXPECT_EQ(time_at(0.5), 3'200);
  EXPECT_EQ(time_at(0), std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
