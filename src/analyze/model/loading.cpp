// Looks at the samples of each thread in turn.
#include "analyze/model/loading.h"

#include <algorithm>
#include <span>

#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kUsualDistances = 2;

using Samples = std::span<const trace::SampleRecord>;

std::int64_t usual_distance_ns(Samples samples) {
  std::vector<std::int64_t> distances_ns;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    distances_ns.push_back(samples[i].time_ns - samples[i - 1].time_ns);
  }
  return median(std::move(distances_ns)).value_or(0);
}

void add_loading(Samples samples, Stacks& stacks, std::vector<Interval>& found) {
  const std::int64_t most_ns = kUsualDistances * usual_distance_ns(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (stacks.facts(stacks.of_stack(samples[i].stack)).place.phase != Phase::kLoader) continue;
    const std::int64_t start_ns = samples[i].time_ns;
    const std::int64_t next_ns = i + 1 < samples.size() ? samples[i + 1].time_ns : start_ns + most_ns;
    const std::int64_t end_ns = std::min(next_ns, start_ns + most_ns);
    if (!found.empty() && found.back().end_ns == start_ns) {
      found.back().end_ns = end_ns;
    } else if (start_ns < end_ns) {
      found.push_back({start_ns, end_ns});
    }
  }
}

}  // namespace

std::vector<Interval> find_loading(const Timeline& timeline, Stacks& stacks, const Threads& threads) {
  std::vector<Interval> found;
  auto begin = timeline.samples.begin();
  while (begin != timeline.samples.end()) {
    const auto end = std::find_if(begin, timeline.samples.end(),
                                  [&](const trace::SampleRecord& one) { return one.thread != begin->thread; });
    if (threads.contains(begin->thread)) add_loading(Samples(begin, end), stacks, found);
    begin = end;
  }
  return found;
}

}  // namespace turnpike::analyze
