// The longest path to every point. The order of the points is found once for a recording: what a change leaves of its
// edges still leads forward in it.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "analyze/graph/graph.h"

namespace turnpike::analyze {
namespace {

// The edges in the order of where they start.
class Outgoing {
 public:
  explicit Outgoing(const Graph& graph) : first_(graph.point_count() + 1, 0), edges_(graph.edges.size()) {
    for (const Edge& edge : graph.edges) ++first_[edge.from + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t index = 0; index < graph.edges.size(); ++index) edges_[next[graph.edges[index].from]++] = index;
  }

  std::span<const std::uint32_t> of(std::uint32_t point) const {
    return std::span(edges_).subspan(first_[point], first_[point + 1] - first_[point]);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> edges_;
};

// Every point, behind those from which edges lead to it. Fewer points: edges go round in a circle.
template <typename Visit>
std::vector<std::uint32_t> visit_in_order(const Graph& graph, Visit visit) {
  const Outgoing outgoing(graph);
  std::vector<std::uint32_t> missing(graph.point_count(), 0);
  for (const Edge& edge : graph.edges) missing[edge.to] += edge.lag_ns != kRemoved ? 1 : 0;
  std::vector<std::uint32_t> ready;
  for (std::uint32_t point = 0; point < missing.size(); ++point) {
    if (missing[point] == 0) ready.push_back(point);
  }
  std::vector<std::uint32_t> order;
  order.reserve(missing.size());
  while (!ready.empty()) {
    const std::uint32_t point = ready.back();
    ready.pop_back();
    order.push_back(point);
    for (const std::uint32_t index : outgoing.of(point)) {
      const Edge& edge = graph.edges[index];
      if (edge.lag_ns == kRemoved) continue;
      visit(edge);
      if (--missing[edge.to] == 0) ready.push_back(edge.to);
    }
  }
  return order;
}

// The edges that edits added, by the point they lead to.
std::vector<Edge> added_edges(const Graph& graph) {
  std::vector<Edge> added(graph.edges.begin() + graph.first_edge.back(), graph.edges.end());
  std::erase_if(added, [](const Edge& edge) { return edge.lag_ns == kRemoved; });
  std::sort(added.begin(), added.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
  return added;
}

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();

// Several times as fast as sorting again: it reads the edges one after the other. nullopt: an edit leads from a point
// to one that stands before it.
std::optional<std::vector<std::int64_t>> retime_in_order(const Graph& graph) {
  const std::vector<Edge> added = added_edges(graph);
  std::vector<bool> has_added(added.empty() ? 0 : graph.point_count());
  for (const Edge& edge : added) has_added[edge.to] = true;
  std::vector<std::int64_t> times_ns(graph.point_count(), kNotYet);
  for (const std::uint32_t point : *graph.order) {
    std::int64_t time_ns = 0;
    bool is_in_order = true;
    const auto follow = [&](const Edge& edge) {
      if (edge.lag_ns == kRemoved) return;
      is_in_order = is_in_order && times_ns[edge.from] != kNotYet;
      if (is_in_order) time_ns = std::max(time_ns, times_ns[edge.from] + edge.lag_ns);
    };
    for (const Edge& edge : graph.edges_to(point)) follow(edge);
    if (!added.empty() && has_added[point]) {
      auto edge = std::lower_bound(added.begin(), added.end(), point,
                                   [](const Edge& one, std::uint32_t to) { return one.to < to; });
      for (; edge != added.end() && edge->to == point; ++edge) follow(*edge);
    }
    if (!is_in_order) return std::nullopt;
    times_ns[point] = time_ns;
  }
  return times_ns;
}

// As Graph::step_at(), without a search where times rise, as those of calls do.
class RisingSteps {
 public:
  explicit RisingSteps(std::span<const std::int64_t> starts_ns) : starts_ns_(starts_ns) {}

  std::uint32_t at(std::int64_t time_ns) {
    if (begun_ > 0 && time_ns < starts_ns_[begun_ - 1]) begun_ = 0;
    while (begun_ < starts_ns_.size() && starts_ns_[begun_] <= time_ns) ++begun_;
    return begun_ == 0 || begun_ == starts_ns_.size() ? kNone : static_cast<std::uint32_t>(begun_ - 1);
  }

 private:
  std::span<const std::int64_t> starts_ns_;
  std::size_t begun_ = 0;  // how many start up to the last time
};

}  // namespace

std::uint32_t Graph::step_at(std::int64_t time_ns) const {
  const auto after = std::upper_bound(step_starts_ns.begin(), step_starts_ns.end(), time_ns);
  if (after == step_starts_ns.begin() || after == step_starts_ns.end()) return kNone;
  return static_cast<std::uint32_t>(after - step_starts_ns.begin() - 1);
}

std::shared_ptr<const std::vector<std::uint32_t>> order_of_points(const Graph& graph) {
  auto order = visit_in_order(graph, [](const Edge&) {});
  if (order.size() != graph.point_count()) return nullptr;
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(order));
}

std::optional<std::vector<std::int64_t>> retime(const Graph& graph) {
  if (graph.order != nullptr) {
    if (auto times_ns = retime_in_order(graph)) return times_ns;
  }
  std::vector<std::int64_t> times_ns(graph.point_count(), 0);
  const auto order = visit_in_order(graph, [&](const Edge& edge) {
    times_ns[edge.to] = std::max(times_ns[edge.to], times_ns[edge.from] + edge.lag_ns);
  });
  if (order.size() != graph.point_count()) return std::nullopt;
  return times_ns;
}

std::vector<std::int64_t> completions_ns(const Graph& graph, std::span<const std::int64_t> times_ns) {
  std::vector<std::int64_t> done_ns(graph.step_starts_ns.size() - 1, 0);
  const auto add = [&](std::uint32_t step, std::uint32_t point) {
    if (step != kNone) done_ns[step] = std::max(done_ns[step], times_ns[point]);
  };
  std::vector<std::uint32_t> step_of_call(graph.calls.size());
  RisingSteps steps(graph.step_starts_ns);
  for (std::uint32_t call = 0; call < graph.calls.size(); ++call) {
    step_of_call[call] = steps.at(graph.measured_ns[graph.call_start(call)]);
    add(step_of_call[call], graph.call_end(call));
  }
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const std::uint32_t call = graph.operations[index].call;
    if (call != kNone) add(step_of_call[call], graph.operation_end(index));
  }
  // A step without any work of its own is done with the one before it.
  std::partial_sum(done_ns.begin(), done_ns.end(), done_ns.begin(),
                   [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  return done_ns;
}

bool is_counted(const Graph& graph, std::size_t step, Pauses pauses) {
  const std::size_t count = graph.step_starts_ns.size() - 1;
  if (step <= (count - 1) / 2 || step >= count) return false;
  return pauses == Pauses::kCounted || step >= graph.is_pause.size() || !graph.is_pause[step];
}

std::vector<Interval> counted_steps(const Graph& graph, std::span<const std::int64_t> times_ns, Pauses pauses) {
  if (graph.step_starts_ns.size() < 3) return {{0, *std::max_element(times_ns.begin(), times_ns.end())}};
  const std::vector<std::int64_t> done_ns = completions_ns(graph, times_ns);
  std::vector<Interval> counted;
  for (std::size_t step = 1; step < done_ns.size(); ++step) {
    if (is_counted(graph, step, pauses)) counted.push_back({done_ns[step - 1], done_ns[step]});
  }
  return counted;
}

double step_ns(const Graph& graph, std::span<const std::int64_t> times_ns, Pauses pauses) {
  const std::vector<Interval> counted = counted_steps(graph, times_ns, pauses);
  std::int64_t sum_ns = 0;
  for (const Interval& one : counted) sum_ns += one.end_ns - one.start_ns;
  return counted.empty() ? 0 : static_cast<double>(sum_ns) / static_cast<double>(counted.size());
}

}  // namespace turnpike::analyze
