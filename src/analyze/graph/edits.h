// The changes that a what-if is made of. Each changes the edges of a graph and leaves its points alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/graph/graph.h"

namespace turnpike::analyze {

// The operation is not carried out: what came after it on its stream follows what came before.
void remove_operation(Graph& graph, std::uint32_t operation);

// The call is not made: it takes no time and waits for nothing. Its operations stay. `with_gap`: nor does the host do
// what it did since its last call.
void remove_call(Graph& graph, std::uint32_t call, bool with_gap);

// The call waits for nothing any more; its own work takes `own_ns`.
void remove_waits(Graph& graph, std::uint32_t call, std::int64_t own_ns);

// Whether something makes the call wait.
bool has_waits(const Graph& graph, std::uint32_t call);

// Whether an edit took the operation away.
bool is_removed(const Graph& graph, std::uint32_t operation);

// Of an operation, after edits.
std::int64_t duration_ns(const Graph& graph, std::uint32_t operation);
void set_duration(Graph& graph, std::uint32_t operation, std::int64_t duration_ns);

// What the host does before the call takes `gap_ns`.
void set_gap(Graph& graph, std::uint32_t call, std::int64_t gap_ns);
std::int64_t gap_ns(const Graph& graph, std::uint32_t call);
// The same with what the thread waited for another one, or for worker processes.
std::int64_t pause_ns(const Graph& graph, std::uint32_t call);
// Before the call, the thread waits for no other one and for no worker process, and what the host does takes `gap_ns`.
void end_pause(Graph& graph, std::uint32_t call, std::int64_t gap_ns);

// The operation leaves its stream: it waits for its launch and its engine alone, and nothing on the stream for it. The
// caller says who waits for it now.
void detach_from_stream(Graph& graph, std::uint32_t operation);

// Nothing waits for the operations of the event edges that start at these points.
void remove_events_from(Graph& graph, std::span<const std::uint32_t> points);

// Takes back all that was changed in a copy of `original`.
void restore(Graph& changed, const Graph& original);

// What edits made of the edges of a graph, without the graph.
struct EditedEdges {
  struct Edited {
    std::uint32_t index;
    Edge edge;
  };
  std::vector<Edited> edited;
  std::vector<Edge> added;
};
EditedEdges edited_edges(const Graph& changed, const Graph& original);
void make_again(Graph& graph, const EditedEdges& edits);

// The operation begins at most `lag_ns` after the one before it on its stream ends.
void close_up(Graph& graph, std::uint32_t operation, std::int64_t lag_ns);

// The operation is launched by another call.
void launch_from(Graph& graph, std::uint32_t operation, std::uint32_t call);

}  // namespace turnpike::analyze
