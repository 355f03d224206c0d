// Builds the graph of a process and answers what findings ask of it.
#include "analyze/graph/process_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/graph/build.h"
#include "analyze/model/batch_gaps.h"

namespace turnpike::analyze {
ProcessModel::ProcessModel(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
                           const std::vector<std::uint32_t>& synchronisation_of_copy, std::optional<FoundSteps> steps,
                           const LinkRates& rates)
    : process_(process),
      timeline_(timeline),
      stacks_(stacks),
      synchronisation_of_copy_(synchronisation_of_copy),
      steps_(std::move(steps)),
      links_(find_links(process, timeline, rates)),
      run_(std::make_shared<const RunGraph>(process, timeline,
                                            build_graph(process, timeline, choose_stretch(timeline, steps_)), links_)),
      operations_of_call_(graph()),
      graph_call_of_(timeline.calls.size(), kNone),
      autograd_threads_(threads_busy_with_backward(timeline, graph().calls)) {
  const auto& calls = graph().calls;
  for (std::uint32_t index = 0; index < calls.size(); ++index) graph_call_of_[calls[index]] = index;
}

double ProcessModel::unexplained_share() const {
  const double measured_ns = measured_step_ns();
  if (measured_ns <= 0) return 0;
  const Graph typical = build_graph(process_, timeline_, choose_stretch(timeline_, steps_), Lags::kTypical);
  const auto times_ns = retime(typical);
  return times_ns ? std::abs(step_ns(typical, *times_ns) / measured_ns - 1) : 1;
}

std::size_t ProcessModel::step_count() const {
  return graph().step_starts_ns.size() < 2 ? 1 : graph().step_starts_ns.size() - 1;
}

const Transfer* ProcessModel::transfer_of(const Operation& operation) const {
  return operation.transfer == kNone ? nullptr : &timeline_.transfers[operation.transfer];
}

const StackFacts& ProcessModel::facts_of_call(std::uint32_t index) const {
  return facts(call(index));
}

std::uint32_t ProcessModel::synchronisation_of(std::uint32_t call) const {
  const std::uint32_t paired = synchronisation_of_copy_[graph().calls[call]];
  return paired == kNone ? kNone : graph_call_of_[paired];
}

std::uint32_t ProcessModel::step_of(std::uint32_t call) const {
  return graph().step_at(graph().measured_ns[graph().call_start(call)]);
}

std::vector<Interval> ProcessModel::batch_gaps() const {
  if (!steps_) return {};
  return find_batch_gaps(timeline_, stacks_, host_threads_of(timeline_), steps_->starts_ns);
}

std::optional<double> ProcessModel::link_gbps(std::uint32_t device, Direction direction) const {
  const KnownRate* rate = link_rate(device, direction);
  return rate == nullptr ? std::nullopt : std::optional(rate->gbps);
}

const KnownRate* ProcessModel::link_rate(std::uint32_t device, Direction direction) const {
  if (direction != Direction::kHostToDevice && direction != Direction::kDeviceToHost) return nullptr;
  const Link* found = link(device);
  return found == nullptr || !found->of(direction) ? nullptr : &*found->of(direction);
}

const Link* ProcessModel::link(std::uint32_t device) const {
  const auto found = links_.find(device);
  return found == links_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> ProcessModel::link_time_ns(std::uint32_t device, Direction direction,
                                                       std::uint64_t bytes) const {
  if (link_rate(device, direction) == nullptr) return std::nullopt;
  const auto copy_ns = link(device)->copy_ns(direction, static_cast<double>(bytes));
  return copy_ns ? std::optional(kCopyStartNs + static_cast<std::int64_t>(*copy_ns)) : std::nullopt;
}

}  // namespace turnpike::analyze
