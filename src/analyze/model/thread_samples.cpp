// Searches by time.
#include "analyze/model/thread_samples.h"

#include <algorithm>
#include <utility>

namespace turnpike::analyze {

using trace::SampleRecord;

std::span<const SampleRecord>::iterator first_sample_from(std::span<const SampleRecord> samples, std::uint32_t thread,
                                                          std::int64_t time_ns) {
  return std::lower_bound(
      samples.begin(), samples.end(), std::pair(thread, time_ns),
      [](const SampleRecord& sample, const auto& key) { return std::pair(sample.thread, sample.time_ns) < key; });
}

std::span<const SampleRecord> samples_in(const Timeline& timeline, std::uint32_t thread, const Interval& time) {
  const std::span<const SampleRecord> samples(timeline.samples);
  return {first_sample_from(samples, thread, time.start_ns),
          first_sample_from(samples, thread, std::max(time.start_ns, time.end_ns))};
}

}  // namespace turnpike::analyze
