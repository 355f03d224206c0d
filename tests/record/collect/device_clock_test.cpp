// Times of another clock are led to the host's, as exactly as the samples say, or are unknown.
#include "record/collect/device_clock.h"

#include <gtest/gtest.h>

namespace turnpike::record {
namespace {

constexpr std::int64_t kHostNow = 1'700'000'000'000'000'000;
constexpr std::int64_t kBootNs = 5'000'000'000'000;
constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSec = 1'000'000'000;

trace::ClockSample at(std::int64_t host_ns, std::int64_t device_ns, std::uint64_t ticks = 0) {
  return {.realtime_ns = kHostNow + host_ns, .monotonic_ns = host_ns, .cupti_ns = kBootNs + device_ns, .tsc = ticks};
}

DeviceClock clock_of(std::initializer_list<trace::ClockSample> samples) {
  DeviceClock clock;
  clock.begin(*samples.begin());
  for (const trace::ClockSample* each = samples.begin() + 1; each != samples.end(); ++each) clock.note(*each);
  return clock;
}

std::int64_t led(const DeviceClock& clock, std::int64_t device_ns) {
  const std::int64_t time = clock.to_realtime(kBootNs + device_ns);
  return time == trace::kUnknownTime ? time : time - kHostNow;
}

TEST(DeviceClock, IsTheHostsWhereBothSayTheSame) {
  DeviceClock clock;
  clock.begin({.realtime_ns = kHostNow, .monotonic_ns = 1, .cupti_ns = kHostNow + 3000, .tsc = 4});
  EXPECT_FALSE(clock.is_other());
  clock.begin({.realtime_ns = kHostNow, .monotonic_ns = 1, .cupti_ns = trace::kUnknownTime, .tsc = 4});
  EXPECT_FALSE(clock.is_other());
  EXPECT_FALSE(clock.covers(kHostNow));
}

TEST(DeviceClock, IsNoneOfNanosecondsWhereAProfilerLeftTicks) {
  DeviceClock clock;
  clock.begin(at(0, 0, kBootNs - 9'000'000));
  EXPECT_FALSE(clock.is_other());
  clock.begin(at(0, 0, kBootNs - 11'000'000));
  EXPECT_TRUE(clock.is_other());
}

TEST(DeviceClock, OneSampleTellsTheDistance) {
  const DeviceClock clock = clock_of({at(0, 0)});
  ASSERT_TRUE(clock.is_other());
  EXPECT_EQ(led(clock, 0), 0);
  EXPECT_EQ(led(clock, 70 * kMilli), 70 * kMilli);
  EXPECT_EQ(led(clock, -70 * kMilli), -70 * kMilli);
}

TEST(DeviceClock, BetweenSamplesTheDriftIsShared) {
  // 100 ppm, then 200 ppm the other way.
  const DeviceClock clock = clock_of({at(0, 0), at(kSec + 100'000, kSec), at(2 * kSec - 100'000, 2 * kSec)});
  EXPECT_EQ(led(clock, kSec / 2), kSec / 2 + 50'000);
  EXPECT_EQ(led(clock, kSec), kSec + 100'000);
  EXPECT_EQ(led(clock, kSec + kSec / 4), kSec + kSec / 4 + 50'000);
  EXPECT_EQ(led(clock, 2 * kSec), 2 * kSec - 100'000);
}

TEST(DeviceClock, BehindTheNewestSampleTheDriftGoesOn) {
  const DeviceClock clock = clock_of({at(0, 0), at(kSec + 100'000, kSec)});
  EXPECT_EQ(led(clock, 2 * kSec), 2 * kSec + 200'000);
  // Two samples that are close say nothing of a drift: the readings spoil them.
  const DeviceClock close = clock_of({at(0, 0), at(kMilli + 50'000, kMilli)});
  EXPECT_EQ(led(close, kSec), kSec + 50'000);
}

TEST(DeviceClock, WhereAClockWasSetTheTimeIsUnknown) {
  // The machine slept, and the host's clock was set by a minute.
  const DeviceClock clock = clock_of({at(0, 0), at(kSec, kSec), at(62 * kSec, 2 * kSec), at(63 * kSec, 3 * kSec)});
  EXPECT_EQ(led(clock, kSec / 2), kSec / 2);
  EXPECT_EQ(led(clock, kSec + kSec / 2), trace::kUnknownTime);
  EXPECT_EQ(led(clock, 2 * kSec + kSec / 2), 62 * kSec + kSec / 2);
  const DeviceClock just_now = clock_of({at(0, 0), at(61 * kSec, kSec)});
  EXPECT_EQ(led(just_now, kSec + kMilli), trace::kUnknownTime);
}

TEST(DeviceClock, TimesFarFromEverySampleAreNotItsOwn) {
  const DeviceClock clock = clock_of({at(0, 0), at(kSec, kSec)});
  EXPECT_TRUE(clock.covers(kBootNs - kSec));
  EXPECT_FALSE(clock.covers(kBootNs - kSec - 1));
  EXPECT_TRUE(clock.covers(kBootNs + 6 * kSec));
  EXPECT_FALSE(clock.covers(kBootNs + 6 * kSec + 1));
  EXPECT_EQ(led(clock, 6 * kSec + 1), trace::kUnknownTime);
}

TEST(DeviceClock, CloseSamplesGiveWayToTheNewest) {
  // The second is too close to the first to be kept beside the third.
  const DeviceClock clock = clock_of({at(0, 0), at(20 * kMilli, 10 * kMilli), at(200 * kMilli, 200 * kMilli)});
  EXPECT_EQ(led(clock, 100 * kMilli), 100 * kMilli);
}

TEST(DeviceClock, ADayOfSamplesKeepsItsBeginning) {
  DeviceClock clock;
  clock.begin(at(0, 0));
  constexpr std::int64_t kTenths = 864'000;
  // 50 ppm.
  for (std::int64_t i = 1; i <= kTenths; ++i) clock.note(at(i * 100 * kMilli + i * 5'000, i * 100 * kMilli));
  for (const std::int64_t second : {0, 7, 3'600, 86'399}) {
    EXPECT_NEAR(static_cast<double>(led(clock, second * kSec)), static_cast<double>(second * kSec + second * 50'000), 2)
        << second;
  }
}

}  // namespace
}  // namespace turnpike::record
