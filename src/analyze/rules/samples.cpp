// Searches by time.
#include "analyze/rules/samples.h"

#include <cstdlib>
#include <iterator>

#include "analyze/model/thread_samples.h"

namespace turnpike::analyze {

using trace::SampleRecord;

const SampleRecord* nearest_sample(std::span<const SampleRecord> samples, std::uint32_t thread, std::int64_t time_ns) {
  const auto after = first_sample_from(samples, thread, time_ns);
  const SampleRecord* best = nullptr;
  const auto offer = [&](const SampleRecord& sample) {
    const auto distance = [&](const SampleRecord& one) { return std::abs(one.time_ns - time_ns); };
    if (sample.thread != thread || distance(sample) > kNearNs) return;
    if (best == nullptr || distance(sample) < distance(*best)) best = &sample;
  };
  if (after != samples.end()) offer(*after);
  if (after != samples.begin()) offer(*std::prev(after));
  return best;
}

bool is_in_stretch(const ProcessModel& model, const SampleRecord& sample) {
  const Interval& stretch = model.graph().window;
  return sample.time_ns >= stretch.start_ns && sample.time_ns < stretch.end_ns;
}

}  // namespace turnpike::analyze
