// The dependencies of a stretch of one process's run, as points in time and the edges between them, and their
// re-timing.
//
// Every call of the CUDA API has two points, its start and its end, and so has every operation of a device (a kernel, a
// copy, a memset). An edge says that one point cannot come before another plus a lag. The time of a point is the latest
// that its edges ask for: re-timing is a longest path, linear in the number of edges.
//
// What decided a start in the recording keeps its measured lag; what did not gets the lag that is typical of its kind,
// or less where the recording shows that it took less. So the unchanged graph gives the recording again, and a changed
// one lets the next constraint take over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

enum class EdgeKind : std::uint8_t {
  kOrigin,         // work that was under way, or threads that ran, when the stretch began
  kProgram,        // the end of a call to the next call of its thread: what the host did between them
  kHandover,       // one thread went on where another stopped: into a backward pass and out of it
  kSignal,         // a thread waited for another one: through a queue, a future, a lock
  kBatch,          // a thread waited for a batch that worker processes delivered: see batch_arrivals.h
  kCall,           // a call's own work on the host
  kLaunch,         // a call to the operation that it asked for
  kStream,         // the operation before on the same stream
  kEvent,          // cudaStreamWaitEvent
  kDefaultStream,  // work of the legacy default stream and of blocking streams, in the order of their issue
  kEngine,         // the copy before in the same direction: a device has one engine for each
  kResource,       // an operation of another stream that had to make room, or that an unknown event stood for
  kOperation,      // an operation's duration
  kWait,           // a call that waited for an operation
  kQueue,          // a launch that waited for room in the queue
  kEdit,           // made by a what-if
};

// An edge that counts no longer.
inline constexpr std::int64_t kRemoved = std::numeric_limits<std::int64_t>::min();

// How lags are set where the recording decided them: as measured, or all as is typical, which shows how well the
// dependencies alone explain the recording.
enum class Lags { kMeasured, kTypical };

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t lag_ns;
  EdgeKind kind;
};

// An operation of a device.
struct Operation {
  std::uint32_t transfer;  // index into the timeline's; kNone for a kernel
  std::uint32_t kernel;    // index into the timeline's; kNone for a transfer
  std::uint32_t call;      // index into Graph::calls; kNone: it came from before the stretch, or from no known call
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t before;  // the operation before it on its stream; kNone
  std::uint32_t after;
  std::int64_t start_ns;  // measured
  std::int64_t end_ns;
};

// Lags that are typical of this recording, in nanoseconds.
struct TypicalLags {
  // Start of a call to the start of its operation on an idle stream.
  std::int64_t kernel_launch = 0;  // memsets too
  std::int64_t copy_launch = 0;
  std::int64_t staged_launch = 0;  // of a pageable upload, whose first part must be staged
  std::int64_t stream = 0;         // end of an operation to the start of the next that waits for it
  std::int64_t event = 0;
  std::int64_t wait = 0;         // end of an operation to the return of the call that waited for it
  std::int64_t copy_return = 0;  // end of a copy to the return of its own call, which it held; may be negative
  std::int64_t copy_call = 0;    // duration of a copy's call that waits for nothing
  std::int64_t sync_call = 0;    // duration of a synchronisation that finds nothing to wait for
  std::int64_t launch_call = 0;
};

class Graph {
 public:
  static constexpr std::uint32_t kOriginPoint = 0;

  Interval window{0, 0};              // measured
  std::vector<std::uint32_t> calls;   // by start: index into the timeline's
  std::vector<Operation> operations;  // by start
  // Those of the recording by the point they lead to, then what edits added.
  std::vector<Edge> edges;
  std::vector<std::uint32_t> first_edge;     // by point: where its edges begin
  std::vector<std::int64_t> measured_ns;     // by point
  std::vector<std::int64_t> step_starts_ns;  // rising; the last one is the end of the last step. Empty: no steps
  std::vector<bool> is_pause;                // by step, as the completions of the recording tell (model/pauses.h)
  std::vector<std::uint32_t> previous_call;  // by call: the one before on its thread; kNone
  // The points, each behind those from which edges of the recording lead to it; nullptr: not known.
  std::shared_ptr<const std::vector<std::uint32_t>> order;
  TypicalLags typical;
  std::uint64_t contradicted_count = 0;  // dependencies that the measured times rule out: left away
  // What edits have touched, for restore(): the points whose edges, and the operations.
  std::vector<std::uint32_t> changed_points;
  std::vector<std::uint32_t> changed_operations;

  std::uint32_t call_start(std::uint32_t call) const { return 1 + 2 * call; }
  std::uint32_t call_end(std::uint32_t call) const { return 2 + 2 * call; }
  std::uint32_t operation_start(std::uint32_t operation) const {
    return static_cast<std::uint32_t>(1 + 2 * (calls.size() + operation));
  }
  std::uint32_t operation_end(std::uint32_t operation) const { return operation_start(operation) + 1; }
  std::size_t point_count() const { return 1 + 2 * (calls.size() + operations.size()); }
  // What leads to a point, without what edits added.
  std::span<Edge> edges_to(std::uint32_t point) {
    changed_points.push_back(point);
    return std::span(edges).subspan(first_edge[point], first_edge[point + 1] - first_edge[point]);
  }
  std::span<const Edge> edges_to(std::uint32_t point) const {
    return std::span(edges).subspan(first_edge[point], first_edge[point + 1] - first_edge[point]);
  }
  // The step that a measured moment lies in; kNone outside of all.
  std::uint32_t step_at(std::int64_t time_ns) const;
};

// The operations that each call asked for, in two arrays: most calls asked for one or none.
class OperationsByCall {
 public:
  OperationsByCall() = default;
  explicit OperationsByCall(const Graph& graph);

  // By start.
  std::span<const std::uint32_t> operator[](std::uint32_t call) const {
    return std::span(operations_).subspan(first_[call], first_[call + 1] - first_[call]);
  }

 private:
  std::vector<std::uint32_t> first_;  // by call: where its operations begin
  std::vector<std::uint32_t> operations_;
};

// For Graph::order; nullptr: the edges go round in a circle.
std::shared_ptr<const std::vector<std::uint32_t>> order_of_points(const Graph& graph);

// The time of every point, counted from the start of the window; nullopt: the edges go round in a circle.
std::optional<std::vector<std::int64_t>> retime(const Graph& graph);

// When all work of each step is done, on the host and on the devices; rising. `times_ns`: the measured or re-timed
// ones. Needs steps.
std::vector<std::int64_t> completions_ns(const Graph& graph, std::span<const std::int64_t> times_ns);

// Whether steps that are pauses (Graph::is_pause) count.
enum class Pauses : std::uint8_t { kLeftOut, kCounted };

// Whether step_ns() counts a step, of a graph that has steps.
bool is_counted(const Graph& graph, std::size_t step, Pauses pauses = Pauses::kLeftOut);

// The steps that step_ns() counts, each from the completion of the step before to its own; without steps one, from the
// start to the end of everything.
std::vector<Interval> counted_steps(const Graph& graph, std::span<const std::int64_t> times_ns,
                                    Pauses pauses = Pauses::kLeftOut);

// How long a step takes, in the measured times or in re-timed ones: the distance between the moments at which all work
// of a step is done, on the host and on the devices, over the second half of the steps, when what went ahead has
// settled. Without steps: from the start to the end of everything.
double step_ns(const Graph& graph, std::span<const std::int64_t> times_ns, Pauses pauses = Pauses::kLeftOut);

}  // namespace turnpike::analyze
