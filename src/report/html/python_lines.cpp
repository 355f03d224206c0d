#include "report/html/python_lines.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

namespace turnpike::report::html {
namespace {

using analyze::Interval;
using Samples = std::span<const trace::SampleRecord>;

// 0 for a thread with one sample: it tells of no time.
std::int64_t usual_distance_ns(Samples samples) {
  std::vector<std::int64_t> distances;
  for (std::size_t i = 1; i < samples.size(); ++i) distances.push_back(samples[i].time_ns - samples[i - 1].time_ns);
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

// The bounds of stretches are multiples of it: a sample stands for the time to the next one, so more exact times would
// say nothing, and take twice as many bytes in the page.
std::int64_t unit_ns(std::int64_t usual_ns) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(usual_ns / 64, 1))));
}

bool is_same_line(const analyze::Place& a, const analyze::Place& b) {
  return a.site == b.site && a.file == b.file && a.library_site == b.library_site;
}

std::vector<PythonStretch> stretches_of(Samples samples, analyze::Stacks& stacks, const Interval& span) {
  const std::int64_t usual_ns = usual_distance_ns(samples);
  const auto rounded = [unit = unit_ns(usual_ns)](std::int64_t ns) { return ns - ns % unit; };
  std::vector<PythonStretch> stretches;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t sampled_ns = samples[i].time_ns;
    if (sampled_ns < span.start_ns || sampled_ns >= span.end_ns) continue;
    const std::uint32_t facts = stacks.of_stack(samples[i].stack);
    const analyze::Place& place = stacks.facts(facts).place;
    if (!place.file) continue;
    // A distance of two may lack one sample by chance; a longer one has another reason.
    const bool is_next_near = i + 1 < samples.size() && samples[i + 1].time_ns - sampled_ns <= 2 * usual_ns;
    const std::int64_t next_ns = is_next_near ? samples[i + 1].time_ns : sampled_ns + usual_ns;
    const std::int64_t from_ns = std::max(span.start_ns, rounded(sampled_ns));
    const std::int64_t to_ns = std::min(span.end_ns, rounded(next_ns));
    if (to_ns <= from_ns) continue;
    if (!stretches.empty() && stretches.back().time.end_ns == from_ns &&
        is_same_line(stacks.facts(stretches.back().facts).place, place)) {
      stretches.back().time.end_ns = to_ns;
    } else {
      stretches.push_back({{from_ns, to_ns}, facts});
    }
  }
  return stretches;
}

}  // namespace

std::map<std::uint32_t, std::vector<PythonStretch>> python_stretches(const analyze::Timeline& timeline,
                                                                     analyze::Stacks& stacks, const Interval& span) {
  std::map<std::uint32_t, std::vector<PythonStretch>> by_thread;
  const Samples all(timeline.samples);
  for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
    while (to < all.size() && all[to].thread == all[from].thread) ++to;
    auto stretches = stretches_of(all.subspan(from, to - from), stacks, span);
    if (!stretches.empty()) by_thread.emplace(all[from].thread, std::move(stretches));
  }
  return by_thread;
}

}  // namespace turnpike::report::html
