// A graph in the making: what its parts share while the edges are drawn.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyze/graph/graph.h"
#include "trace/process.h"

namespace turnpike::analyze {

// A stream of a device; CUPTI's ids are unique within a context.
using StreamKey = std::pair<std::uint32_t, std::uint32_t>;

// Something that an operation may have had to wait for.
struct Constraint {
  std::uint32_t operation;  // that waits
  std::uint32_t from;       // point
  EdgeKind kind;
};

// Measured lags of one kind.
struct LagSamples {
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> of_counted_steps;  // of the steps that step_ns() counts; without steps all of them
  // No lag of a counted step can be longer.
  std::int64_t limit_ns = std::numeric_limits<std::int64_t>::max();
};

struct Draft {
  const trace::Process& process;
  const Timeline& timeline;
  Lags lags;
  Graph graph;
  OperationsByCall operations_of_call;
  std::vector<Constraint> constraints;

  const Call& call(std::uint32_t index) const { return timeline.calls[graph.calls[index]]; }
  std::int64_t start_of_call(std::uint32_t index) const { return graph.measured_ns[graph.call_start(index)]; }
  std::int64_t end_of_call(std::uint32_t index) const { return graph.measured_ns[graph.call_end(index)]; }
  std::int64_t end_of_operation(std::uint32_t index) const { return graph.measured_ns[graph.operation_end(index)]; }
  // Those of the call's thread since its call before. There is one.
  std::span<const trace::SampleRecord> samples_before(std::uint32_t call) const;
  // Whether the call is of a step that step_ns() counts; all are, where there are no steps.
  bool is_of_counted_step(std::uint32_t call) const;
  // Adds a lag of a call's, unless it is of a pause.
  void learn(LagSamples& samples, std::uint32_t call, std::int64_t lag_ns) const;
  // The same of a lag that was at most so long.
  void learn_limit(LagSamples& samples, std::uint32_t call, std::int64_t limit_ns) const;
  void add_edge(std::uint32_t from, std::uint32_t to, std::int64_t lag_ns, EdgeKind kind) {
    graph.edges.push_back({from, to, lag_ns, kind});
  }
};

// What the host did between its calls, thread by thread.
void add_host_edges(Draft& draft);
// What each operation had to wait for, with the lags of each kind.
void add_device_edges(Draft& draft);
// Adds what the legacy default stream and a device's blocking streams wait for of each other to the constraints, which
// hold all others by then.
void add_default_stream_constraints(Draft& draft);
// What each call waited for, and its own work. After add_device_edges, whose constraints tell what was under way.
void add_wait_edges(Draft& draft);

// One lag in the place of many: the median, which an outlier does not move. With Lags::kTypical the sum must come out
// in the steps that are compared: the mean of those, or of all where these have none, which then the limit bounds.
// `otherwise` when there are none.
std::int64_t usual_or(const LagSamples& samples, std::int64_t otherwise, Lags lags);

}  // namespace turnpike::analyze
