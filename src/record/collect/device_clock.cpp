// CUPTI's clock, where it is not the host's.
#include "record/collect/device_clock.h"

#include <algorithm>
#include <cstdlib>

namespace turnpike::record {
namespace {

// 128 KiB. One sample in a tenth of a second: closer ones say less than the reading of two clocks spoils.
constexpr std::size_t kMost = 8192;
constexpr std::int64_t kBetweenSamples = 100'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
// Times that come later than the newest sample: buffers that were full before a flush.
constexpr std::int64_t kAfterNewest = 5 * kSecond;
// The host's clock is slewed by at most 500 ppm, and no oscillator is wrong by as much. The readings add to it.
constexpr std::int64_t kSlewedPerSecond = 1'000'000;
constexpr std::int64_t kOfReadings = 500'000;

}  // namespace

void DeviceClock::begin(const trace::ClockSample& start) {
  // A profiler may have left CUPTI with the processor's ticks, which are no nanoseconds.
  constexpr std::uint64_t kNearTicks = 10'000'000;
  const auto is_near_ticks = [&] {
    const auto device = static_cast<std::uint64_t>(start.cupti_ns);
    return start.tsc != 0 && std::max(device, start.tsc) - std::min(device, start.tsc) <= kNearTicks;
  };
  // A time that is not known is below 0.
  is_other_ = start.cupti_ns > 0 && std::llabs(start.cupti_ns - start.realtime_ns) > kSecond && !is_near_ticks();
  note(start);
}

void DeviceClock::note(const trace::ClockSample& sample) {
  if (!is_other_ || sample.cupti_ns == trace::kUnknownTime) return;
  const Sample next{sample.cupti_ns, sample.realtime_ns};
  if (!samples_.empty() && next.device_ns <= samples_.back().device_ns) return;
  const std::size_t count = samples_.size();
  if (count >= 2 && samples_[count - 1].device_ns - samples_[count - 2].device_ns < kBetweenSamples) {
    samples_.back() = next;
    return;
  }
  if (count == kMost) {
    // Every other one: a kernel may have begun long ago.
    for (std::size_t i = 1; 2 * i < count; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(count / 2);
  }
  samples_.push_back(next);
}

bool DeviceClock::covers(std::int64_t time) const {
  return !samples_.empty() && time >= samples_.front().device_ns - kSecond &&
         time <= samples_.back().device_ns + kAfterNewest;
}

bool DeviceClock::was_set_between(const Sample& one, const Sample& next) {
  const std::int64_t slewed = (next.device_ns - one.device_ns) / kSecond * kSlewedPerSecond + kSlewedPerSecond;
  return std::llabs(next.offset() - one.offset()) > slewed + kOfReadings;
}

std::int64_t DeviceClock::on_the_line(const Sample& one, const Sample& next, std::int64_t time) {
  const double share = static_cast<double>(time - one.device_ns) / static_cast<double>(next.device_ns - one.device_ns);
  const double slewed = static_cast<double>(next.offset() - one.offset()) * share;
  return time + one.offset() + static_cast<std::int64_t>(slewed);
}

std::int64_t DeviceClock::to_realtime(std::int64_t time) const {
  if (!covers(time)) return trace::kUnknownTime;
  const auto next = std::upper_bound(samples_.begin(), samples_.end(), time,
                                     [](std::int64_t wanted, const Sample& each) { return wanted < each.device_ns; });
  if (next == samples_.begin() || samples_.size() == 1) return time + samples_.front().offset();
  const Sample& after = next == samples_.end() ? samples_.back() : *next;
  const Sample& before = *((next == samples_.end() ? next - 1 : next) - 1);
  if (was_set_between(before, after)) return trace::kUnknownTime;
  const bool is_line_short = after.device_ns - before.device_ns < kBetweenSamples / 2;
  if (next == samples_.end() && is_line_short) return time + after.offset();
  return on_the_line(before, after, time);
}

}  // namespace turnpike::record
