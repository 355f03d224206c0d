// One state for each moment of the host.
#include "analyze/sums/host_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/model/batch_gaps.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "10-30 copy #5", in milliseconds.
std::vector<std::string> states_of(HostActivity host, std::int64_t start_ms, std::int64_t end_ms) {
  std::vector<std::string> found;
  HostStates(std::move(host)).each(start_ms * kMs, end_ms * kMs, [&](const HostState& state) {
    std::string text = std::to_string(state.time.start_ns / kMs) + "-" + std::to_string(state.time.end_ns / kMs) + " " +
                       name_of(state.cause);
    if (state.call != kNone) text += " #" + std::to_string(state.call);
    found.push_back(text);
  });
  return found;
}

TEST(HostStates, OfNothingAreUnknown) {
  EXPECT_THAT(states_of({}, 10, 20), ElementsAre("10-20 unknown"));
  EXPECT_THAT(states_of({}, 10, 10), IsEmpty());
}

TEST(HostStates, GiveAMomentToTheMostTellingOne) {
  const HostActivity host{.calls = {{0, 100 * kMs}},
                          .copy_waits = {{20 * kMs, 30 * kMs, 1}},
                          .sync_waits = {{10 * kMs, 40 * kMs, 2}},
                          .batch_gaps = {{5 * kMs, 50 * kMs, 3}}};
  EXPECT_THAT(states_of(host, 0, 110),
              ElementsAre("0-5 launch", "5-10 input #3", "10-20 sync #2", "20-30 copy #1", "30-40 sync #2",
                          "40-50 input #3", "50-100 launch", "100-110 unknown"));
}

TEST(HostStates, AreCutWhereTheyAreAskedFor) {
  const HostActivity host{.copy_waits = {{20 * kMs, 30 * kMs, 1}}};
  EXPECT_THAT(states_of(host, 22, 25), ElementsAre("22-25 copy #1"));
  EXPECT_THAT(states_of(host, 0, 21), ElementsAre("0-20 unknown", "20-21 copy #1"));
  EXPECT_THAT(states_of(host, 29, 40), ElementsAre("29-30 copy #1", "30-40 unknown"));
  EXPECT_THAT(states_of(host, 30, 40), ElementsAre("30-40 unknown"));
}

TEST(HostStates, OfWaitsAtOnceAreTheFirstOnesToTheirEnd) {
  const HostActivity host{
      .sync_waits = {
          {30 * kMs, 50 * kMs, 3}, {10 * kMs, 40 * kMs, 1}, {20 * kMs, 35 * kMs, 2}, {60 * kMs, 60 * kMs, 4}}};
  EXPECT_THAT(states_of(host, 10, 60), ElementsAre("10-40 sync #1", "40-50 sync #3", "50-60 unknown"));
}

TEST(HostStates, TakeACallThatSetsSomethingUpForOtherWork) {
  const HostActivity host{
      .calls = {{0, 100 * kMs}}, .allocations = {{20 * kMs, 30 * kMs, 1}}, .long_calls = {{10 * kMs, 40 * kMs, 2}}};
  EXPECT_THAT(states_of(host, 0, 50), ElementsAre("0-10 launch", "10-20 unknown #2", "20-30 allocation #1",
                                                  "30-40 unknown #2", "40-50 launch"));
}

TEST(HostStates, OfCopiesWithoutTimesAreUnrecorded) {
  const HostActivity host{.copy_waits = {{10 * kMs, 30 * kMs, 1}}, .untimed_waits = {{20 * kMs, 40 * kMs, 2}}};
  EXPECT_THAT(states_of(host, 10, 40), ElementsAre("10-20 copy #1", "20-40 unrecorded #2"));
}

TEST(HostStates, TakeAShortPauseForIssuing) {
  const std::int64_t kPause = kQuietNs / kMs;
  const HostActivity short_pause{.calls = {{0, 10 * kMs}, {(10 + kPause) * kMs, 20 * kMs}}};
  EXPECT_THAT(states_of(short_pause, 0, 20), ElementsAre("0-20 launch"));
  const HostActivity long_pause{.calls = {{0, 10 * kMs}, {(11 + kPause) * kMs, 20 * kMs}}};
  EXPECT_THAT(states_of(long_pause, 0, 20), ElementsAre("0-10 launch", "10-13 unknown", "13-20 launch"));
}

}  // namespace
}  // namespace turnpike::analyze
