// The three sources of steps.
#include "analyze/model/steps.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "analyze/model/activity.h"
#include "analyze/model/labels.h"
#include "analyze/model/threads.h"
#include "analyze/model/upload_cycle.h"
#include "base/statistics.h"
#include "base/step_name.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMinRanges = 3;
constexpr std::size_t kMinPasses = 3;
constexpr std::size_t kMinTransfers = 5;
constexpr std::int64_t kWarmUpMedians = 3;
constexpr std::size_t kMinSteady = 2;  // so many starts at least stay in the window
constexpr double kMaxVariation = 0.5;
// A range that lasts for less of the time to the next one is not all of a step.
constexpr double kCoveredShare = 0.95;

std::int64_t median_distance_ns(const std::vector<std::int64_t>& starts_ns) {
  std::vector<std::int64_t> distances_ns;
  for (std::size_t i = 1; i < starts_ns.size(); ++i) distances_ns.push_back(starts_ns[i] - starts_ns[i - 1]);
  return median(std::move(distances_ns)).value_or(0);
}

void leave_out_warm_up(FoundSteps& found) {
  const auto& starts_ns = found.starts_ns;
  std::size_t first = 0;
  while (first + kMinSteady < starts_ns.size() &&
         starts_ns[first + 1] - starts_ns[first] > kWarmUpMedians * found.steps.median_ns) {
    ++first;
  }
  found.window.start_ns = starts_ns[first];
  found.whole_count -= first;
  found.has_warm_up = first > 0;
}

// Needs a start or more, sorted. The end of the last step is unknown.
FoundSteps steps_from(StepSource source, std::string marker, std::vector<std::int64_t> starts_ns) {
  FoundSteps found{.steps = {.count = starts_ns.size(),
                             .median_ns = median_distance_ns(starts_ns),
                             .source = source,
                             .marker = std::move(marker)},
                   .starts_ns = {},
                   .window = {starts_ns.front(), starts_ns.back()},
                   .whole_count = starts_ns.size() - 1,
                   .has_warm_up = false};
  found.starts_ns = std::move(starts_ns);
  leave_out_warm_up(found);
  return found;
}

// The ranges of one name, in the order of their starts.
class NamedRanges {
 public:
  void add(const Range& range) { ranges_.push_back(&range); }
  std::size_t size() const { return ranges_.size(); }

  void keep_one_after_the_other() {
    std::map<std::uint32_t, std::int64_t> time_of_thread;
    for (const Range* range : ranges_) time_of_thread[range->thread] += range->end_ns - range->start_ns;
    if (time_of_thread.size() < 2 || !do_overlap()) return;
    const auto most = std::max_element(time_of_thread.begin(), time_of_thread.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::erase_if(ranges_, [&](const Range* range) { return range->thread != most->first; });
  }

  std::int64_t total_ns() const {
    return std::accumulate(ranges_.begin(), ranges_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Range* range) { return sum + range->end_ns - range->start_ns; });
  }
  std::int64_t end_ns() const {
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (const Range* range : ranges_) end_ns = std::max(end_ns, range->end_ns);
    return end_ns;
  }
  std::vector<std::int64_t> starts_ns() const {
    std::vector<std::int64_t> starts_ns;
    for (const Range* range : ranges_) starts_ns.push_back(range->start_ns);
    return starts_ns;
  }
  // From each start to the next; of the last to its end, where each range ends when the next one starts: else the
  // program does more in a step than the range covers.
  std::vector<std::int64_t> lengths_ns() const {
    std::vector<std::int64_t> lengths_ns;
    bool is_covered = true;
    for (std::size_t i = 0; i + 1 < ranges_.size(); ++i) {
      const std::int64_t length_ns = ranges_[i + 1]->start_ns - ranges_[i]->start_ns;
      const auto covered_ns = static_cast<double>(ranges_[i]->end_ns - ranges_[i]->start_ns);
      is_covered = is_covered && covered_ns >= kCoveredShare * static_cast<double>(length_ns);
      lengths_ns.push_back(length_ns);
    }
    if (is_covered) lengths_ns.push_back(ranges_.back()->end_ns - ranges_.back()->start_ns);
    return lengths_ns;
  }

 private:
  bool do_overlap() const {
    return std::adjacent_find(ranges_.begin(), ranges_.end(), [](const Range* a, const Range* b) {
             return b->start_ns < a->end_ns && a->thread != b->thread;
           }) != ranges_.end();
  }

  std::vector<const Range*> ranges_;
};

std::optional<FoundSteps> steps_of_ranges(const trace::Process& process, const Timeline& timeline, const Steps* like) {
  std::unordered_map<std::uint32_t, bool> is_step;
  std::map<std::string_view, NamedRanges> by_name;
  for (const Range& range : timeline.ranges) {
    if (is_label(process, range)) continue;
    const std::string_view name = without_number(process.string(range.name));
    const auto [known, is_new] = is_step.try_emplace(range.name, false);
    if (is_new) known->second = names_a_step(name);
    if (!known->second) continue;
    by_name[name].add(range);
  }
  for (auto& [name, named] : by_name) named.keep_one_after_the_other();
  std::erase_if(by_name, [&](const auto& entry) {
    return like != nullptr ? entry.first != like->marker : entry.second.size() < kMinRanges;
  });
  const auto most = std::max_element(by_name.begin(), by_name.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns() < b.second.total_ns();
  });
  if (most == by_name.end()) return std::nullopt;
  FoundSteps found = steps_from(StepSource::kRanges, std::string(most->first), most->second.starts_ns());
  found.steps.median_ns = median(most->second.lengths_ns()).value_or(0);
  found.window.end_ns = most->second.end_ns();
  ++found.whole_count;  // the end of the last is known
  return found;
}

// A thread that never built a graph (one that pins for a loader, or stages uploads) copies for a later step, at any
// time.
bool ends_backward(const Call& call) {
  if (call.autograd_role != trace::AutogradRole::kForward) return false;
  return is_launch(call) || (call.kind == trace::CallKind::kCopy && call.autograd_sequence > 0);
}

std::optional<FoundSteps> steps_of_backward(const Timeline& timeline, const Steps* like) {
  std::vector<std::int64_t> starts_ns;
  bool is_in_pass = false;
  for (const Call& call : timeline.calls) {
    if (!call.has_times()) continue;
    if (call.autograd_role == trace::AutogradRole::kBackward) {
      if (!is_in_pass) starts_ns.push_back(call.start_ns);
      is_in_pass = true;
    } else if (ends_backward(call)) {
      is_in_pass = false;
    }
  }
  if (starts_ns.size() < (like != nullptr ? 1 : kMinPasses)) return std::nullopt;
  return steps_from(StepSource::kBackward, "", std::move(starts_ns));
}

// When the transfers of each site started, the sites one after the other.
class StartsBySite {
 public:
  template <class Counts>
  StartsBySite(const Timeline& timeline, std::span<const std::uint32_t> site_of_transfer, const Counts& counts) {
    for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
      if (!counts(i)) continue;
      const std::size_t site = site_of_transfer[i];
      if (site + 2 > first_.size()) first_.resize(site + 2, 0);
      ++first_[site + 1];
    }
    for (std::size_t site = 1; site < first_.size(); ++site) first_[site] += first_[site - 1];
    starts_ns_.resize(first_.empty() ? 0 : first_.back());
    std::vector<std::size_t> next = first_;
    for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
      if (counts(i)) starts_ns_[next[site_of_transfer[i]]++] = timeline.transfers[i].start_ns;
    }
  }

  std::size_t site_count() const { return first_.empty() ? 0 : first_.size() - 1; }
  std::span<const std::int64_t> of(std::size_t site) const {
    return std::span(starts_ns_).subspan(first_[site], first_[site + 1] - first_[site]);
  }

 private:
  std::vector<std::size_t> first_;  // by site: where its starts begin; one more than there are sites
  std::vector<std::int64_t> starts_ns_;
};

// Without the steps that warm up: the first one may load kernels for longer than all others take together.
bool is_regular(std::span<const std::int64_t> starts_ns) {
  if (starts_ns.size() < kMinTransfers) return false;
  std::vector<std::int64_t> distances_ns;
  for (std::size_t i = 1; i < starts_ns.size(); ++i) distances_ns.push_back(starts_ns[i] - starts_ns[i - 1]);
  const std::int64_t most_ns = kWarmUpMedians * median(distances_ns).value_or(0);
  auto first = distances_ns.begin();
  while (first != distances_ns.end() && *first > most_ns) ++first;
  const auto count = static_cast<double>(distances_ns.end() - first);
  if (count + 1 < static_cast<double>(kMinTransfers)) return false;
  const double mean_ns = std::accumulate(first, distances_ns.end(), 0.0) / count;
  const double squares_ns2 = std::accumulate(first, distances_ns.end(), 0.0, [mean_ns](double sum, std::int64_t ns) {
    const double from_mean_ns = static_cast<double>(ns) - mean_ns;
    return sum + from_mean_ns * from_mean_ns;
  });
  return mean_ns > 0 && std::sqrt(squares_ns2 / count) < kMaxVariation * mean_ns;
}

// Of a transfer: where a step begins, if it begins one.
struct StepStart {
  std::int64_t time_ns;
  std::uint32_t upload;  // its call; kNone: unknown, or it is no upload
  auto operator<=>(const StepStart&) const = default;
};

StepStart start_of(const Timeline& timeline, const Transfer& transfer) {
  const Call* call = transfer.call == kNone ? nullptr : &timeline.calls[transfer.call];
  return {call != nullptr && call->has_times() ? call->start_ns : transfer.start_ns,
          transfer.direction == Direction::kHostToDevice ? transfer.call : kNone};
}

std::optional<UploadCycle> cycle_of(const Timeline& timeline, std::span<const StepStart> starts) {
  std::vector<std::uint32_t> uploads;
  for (const StepStart& start : starts) uploads.push_back(start.upload);
  return upload_cycle_of(timeline, uploads);
}

// Of all transfers, or where there is a cycle, of those that begin a round.
std::vector<std::int64_t> times_of(const Timeline& timeline, std::span<const StepStart> starts,
                                   const std::optional<UploadCycle>& cycle) {
  const auto is_of = [&](std::size_t index, const UploadCycle::Piece& piece) {
    return starts[index].upload != kNone && piece_of(timeline.calls[starts[index].upload]) == piece;
  };
  const auto begins_round = [&](std::size_t index) {
    if (!is_of(index, cycle->first)) return false;
    if (index + 1 < starts.size()) return is_of(index + 1, cycle->second);
    return index == 0 || is_of(index - 1, cycle->last);
  };
  std::vector<std::int64_t> times_ns;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!cycle || begins_round(i)) times_ns.push_back(starts[i].time_ns);
  }
  return times_ns;
}

// Whether most of the device's work was asked for before the first or after the last of these moments.
bool is_burst(const Timeline& timeline, std::int64_t first_ns, std::int64_t last_ns) {
  std::size_t total = 0;
  std::size_t between = 0;
  for (const Kernel& kernel : timeline.kernels) {
    if (!kernel.has_times()) continue;
    const Call* call = kernel.call == kNone ? nullptr : &timeline.calls[kernel.call];
    const std::int64_t asked_ns = call != nullptr && call->has_times() ? call->start_ns : kernel.start_ns;
    ++total;
    if (first_ns <= asked_ns && asked_ns <= last_ns) ++between;
  }
  return 2 * between < total;
}

std::optional<FoundSteps> steps_of_transfers(const Timeline& timeline, Stacks& stacks,
                                             std::span<const std::uint32_t> site_of_transfer, const Steps* like) {
  std::unordered_map<std::uint32_t, std::string> places;
  const auto place_of = [&](std::size_t index) -> const std::string& {
    const auto [place, is_new] = places.try_emplace(site_of_transfer[index]);
    if (is_new) place->second = stacks.facts(stacks.of_transfer(timeline.transfers[index])).place.site;
    return place->second;
  };
  std::unordered_map<std::uint32_t, bool> lines;
  const auto is_of_a_line = [&](std::size_t index) {
    const auto [line, is_new] = lines.try_emplace(site_of_transfer[index]);
    if (is_new) line->second = stacks.facts(stacks.of_transfer(timeline.transfers[index])).place.line.has_value();
    return line->second;
  };
  // Operators make copies within a device many times in a step. One of a line of the program may mark it all the same.
  const auto counts = [&](std::size_t index) {
    return site_of_transfer[index] != kNone && timeline.transfers[index].has_times() &&
           (!is_within_device(timeline.transfers[index].direction) || is_of_a_line(index)) &&
           (like == nullptr || place_of(index) == like->marker);
  };
  const StartsBySite starts(timeline, site_of_transfer, counts);
  std::size_t most = starts.site_count();  // none
  for (std::size_t site = 0; site < starts.site_count(); ++site) {
    const auto of_site = starts.of(site);
    if (of_site.empty() || (most != starts.site_count() && of_site.size() <= starts.of(most).size())) continue;
    if (like != nullptr || is_regular(of_site)) most = site;
  }
  if (most == starts.site_count()) return std::nullopt;
  std::string place;
  std::vector<StepStart> starts_of_site;
  for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
    if (site_of_transfer[i] != most || !counts(i)) continue;
    if (starts_of_site.empty()) place = place_of(i);
    starts_of_site.push_back(start_of(timeline, timeline.transfers[i]));
  }
  std::sort(starts_of_site.begin(), starts_of_site.end());
  std::optional<UploadCycle> cycle = like != nullptr ? like->cycle : cycle_of(timeline, starts_of_site);
  std::vector<std::int64_t> starts_ns = times_of(timeline, starts_of_site, cycle);
  if (starts_ns.empty()) {  // a part of a round without its beginning, or the pieces have moved
    cycle = cycle_of(timeline, starts_of_site);
    if (!cycle) return std::nullopt;
    starts_ns = times_of(timeline, starts_of_site, cycle);
  }
  if (like == nullptr && is_burst(timeline, starts_ns.front(), starts_ns.back())) return std::nullopt;
  FoundSteps found = steps_from(StepSource::kTransfers, place, std::move(starts_ns));
  found.steps.cycle = cycle;
  return found;
}

}  // namespace

std::optional<FoundSteps> find_steps(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
                                     std::span<const std::uint32_t> site_of_transfer, const Steps* like) {
  const auto may_be = [&](StepSource source) { return like == nullptr || like->source == source; };
  std::optional<FoundSteps> found;
  if (may_be(StepSource::kRanges)) found = steps_of_ranges(process, timeline, like);
  if (!found && may_be(StepSource::kBackward)) found = steps_of_backward(timeline, like);
  if (!found && may_be(StepSource::kTransfers)) found = steps_of_transfers(timeline, stacks, site_of_transfer, like);
  return found;
}

}  // namespace turnpike::analyze
