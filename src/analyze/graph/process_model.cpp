// Builds the graph of a process and answers what findings ask of it.
#include "analyze/graph/process_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/graph/build.h"
#include "analyze/model/batch_gaps.h"

namespace turnpike::analyze {
namespace {

// What a copy over the link takes besides its bytes.
constexpr std::int64_t kCopyStartNs = 1200;

}  // namespace

ProcessModel::ProcessModel(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
                           const std::vector<std::uint32_t>& synchronisation_of_copy, std::optional<FoundSteps> steps,
                           const LinkRates& rates)
    : process_(process),
      timeline_(timeline),
      stacks_(stacks),
      synchronisation_of_copy_(synchronisation_of_copy),
      steps_(std::move(steps)),
      graph_(build_graph(process, timeline, choose_stretch(timeline, steps_))),
      operations_of_call_(graph_),
      graph_call_of_(timeline.calls.size(), kNone),
      autograd_threads_(threads_busy_with_backward(timeline, graph_.calls)),
      links_(find_links(process, timeline, rates)) {
  for (std::uint32_t index = 0; index < graph_.calls.size(); ++index) graph_call_of_[graph_.calls[index]] = index;
  if (graph_.calls.empty() && graph_.operations.empty()) return;
  measured_step_ns_ = step_ns(graph_, graph_.measured_ns);
  if (const auto times_ns = retime(graph_)) retimed_step_ns_ = step_ns(graph_, *times_ns);
  least_step_.emplace(process, timeline, graph_);
}

double ProcessModel::unexplained_share() const {
  if (measured_step_ns_ <= 0) return 0;
  const Graph typical = build_graph(process_, timeline_, choose_stretch(timeline_, steps_), Lags::kTypical);
  const auto times_ns = retime(typical);
  return times_ns ? std::abs(step_ns(typical, *times_ns) / measured_step_ns_ - 1) : 1;
}

std::size_t ProcessModel::step_count() const {
  return graph_.step_starts_ns.size() < 2 ? 1 : graph_.step_starts_ns.size() - 1;
}

std::optional<double> ProcessModel::step_ns_of(const Graph& changed) const {
  const auto times_ns = retime(changed);
  return times_ns ? step_ns_of(changed, *times_ns) : std::nullopt;
}

std::optional<double> ProcessModel::step_ns_of(const Graph& changed, std::span<const std::int64_t> times_ns) const {
  if (retimed_step_ns_ <= 0) return std::nullopt;
  return std::max(step_ns(changed, times_ns) / retimed_step_ns_ * measured_step_ns_, least_step_->of(changed));
}

std::optional<double> ProcessModel::step_with_pauses_ns_of(const Graph& changed,
                                                           std::span<const std::int64_t> times_ns) const {
  const auto unchanged_ns = retime(graph_);
  const double retimed_ns = unchanged_ns ? step_ns(graph_, *unchanged_ns, Pauses::kCounted) : 0;
  if (retimed_ns <= 0) return std::nullopt;
  return step_ns(changed, times_ns, Pauses::kCounted) / retimed_ns * measured_step_ns(Pauses::kCounted);
}

const Transfer* ProcessModel::transfer_of(const Operation& operation) const {
  return operation.transfer == kNone ? nullptr : &timeline_.transfers[operation.transfer];
}

const StackFacts& ProcessModel::facts_of_call(std::uint32_t index) const {
  return facts(call(index));
}

std::uint32_t ProcessModel::synchronisation_of(std::uint32_t call) const {
  const std::uint32_t paired = synchronisation_of_copy_[graph_.calls[call]];
  return paired == kNone ? kNone : graph_call_of_[paired];
}

std::uint32_t ProcessModel::step_of(std::uint32_t call) const {
  return graph_.step_at(graph_.measured_ns[graph_.call_start(call)]);
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
