// Unites what the devices did, without what a change takes away.
#include "analyze/graph/least_step.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/graph/edits.h"
#include "analyze/model/collectives.h"

namespace turnpike::analyze {
namespace {

class Computing {
 public:
  Computing(const trace::Process& process, const Timeline& timeline) : process_(process), timeline_(timeline) {}

  bool has(const Operation& operation) {
    if (operation.kernel != kNone) return !is_collective(timeline_.kernels[operation.kernel].name);
    const Direction direction = timeline_.transfers[operation.transfer].direction;
    return direction == Direction::kDeviceToDevice || direction == Direction::kMemset;
  }

 private:
  bool is_collective(std::uint32_t name) {
    const auto [known, is_new] = is_collective_.try_emplace(name);
    if (is_new) known->second = is_of_nccl(process_.string(name));
    return known->second;
  }

  const trace::Process& process_;
  const Timeline& timeline_;
  std::unordered_map<std::uint32_t, bool> is_collective_;  // by name
};

std::int64_t covered_ns(const std::vector<Interval>& work, const std::vector<Interval>& counted) {
  const IntervalSet busy(work);
  std::int64_t sum_ns = 0;
  for (const Interval& one : counted) sum_ns += busy.covered_ns(one.start_ns, one.end_ns);
  return sum_ns;
}

}  // namespace

LeastStep::LeastStep(const trace::Process& process, const Timeline& timeline, const Graph& graph)
    : counted_{counted_steps(graph, graph.measured_ns, Pauses::kLeftOut),
               counted_steps(graph, graph.measured_ns, Pauses::kCounted)} {
  Computing computing(process, timeline);
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const Operation& operation = graph.operations[index];
    if (computing.has(operation)) work_.push_back({operation.device, index});
  }
  std::stable_sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) { return a.device < b.device; });
}

double LeastStep::of(const Graph& changed, Pauses pauses) const {
  const std::vector<Interval>& counted = counted_[static_cast<std::size_t>(pauses)];
  std::int64_t most_ns = 0;
  std::vector<Interval> of_device;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const std::int64_t start_ns = changed.measured_ns[changed.operation_start(work_[i].operation)];
    of_device.push_back({start_ns, start_ns + duration_ns(changed, work_[i].operation)});
    const bool is_last = i + 1 == work_.size() || work_[i + 1].device != work_[i].device;
    if (!is_last) continue;
    most_ns = std::max(most_ns, covered_ns(of_device, counted));
    of_device.clear();
  }
  return counted.empty() ? 0 : static_cast<double>(most_ns) / static_cast<double>(counted.size());
}

}  // namespace turnpike::analyze
