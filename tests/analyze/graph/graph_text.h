// A graph as lines of text: "call 0 end -> call 1 start 40 program", in the order of the points they lead to.
#pragma once

#include <string>
#include <vector>

#include "analyze/graph/build.h"
#include "analyze/process_builder.h"

namespace turnpike::analyze {

inline std::string name_of(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kOrigin:
      return "origin";
    case EdgeKind::kProgram:
      return "program";
    case EdgeKind::kHandover:
      return "handover";
    case EdgeKind::kSignal:
      return "signal";
    case EdgeKind::kBatch:
      return "batch";
    case EdgeKind::kCall:
      return "call";
    case EdgeKind::kLaunch:
      return "launch";
    case EdgeKind::kStream:
      return "stream";
    case EdgeKind::kEvent:
      return "event";
    case EdgeKind::kDefaultStream:
      return "default stream";
    case EdgeKind::kEngine:
      return "engine";
    case EdgeKind::kResource:
      return "resource";
    case EdgeKind::kOperation:
      return "operation";
    case EdgeKind::kWait:
      return "wait";
    case EdgeKind::kQueue:
      return "queue";
    case EdgeKind::kEdit:
      return "edit";
  }
  return "?";
}

inline std::string point_name(const Graph& graph, std::uint32_t point) {
  if (point == Graph::kOriginPoint) return "origin";
  const std::uint32_t index = (point - 1) / 2;
  const auto calls = static_cast<std::uint32_t>(graph.calls.size());
  const std::string side = (point - 1) % 2 == 0 ? " start" : " end";
  return (index < calls ? "call " + std::to_string(index) : "work " + std::to_string(index - calls)) + side;
}

inline std::string edge_text(const Graph& graph, const Edge& edge) {
  return point_name(graph, edge.from) + " -> " + point_name(graph, edge.to) + " " +
         (edge.lag_ns == kRemoved ? "removed" : std::to_string(edge.lag_ns)) + " " + name_of(edge.kind);
}

// The edges that lead to the start of a call, to the end of one, to the start of device work.
inline std::vector<std::string> texts_of(const Graph& graph, std::span<const Edge> edges) {
  std::vector<std::string> lines;
  for (const Edge& edge : edges) lines.push_back(edge_text(graph, edge));
  return lines;
}
inline std::vector<std::string> before_call(const Graph& graph, std::uint32_t call) {
  return texts_of(graph, graph.edges_to(graph.call_start(call)));
}
inline std::vector<std::string> in_call(const Graph& graph, std::uint32_t call) {
  return texts_of(graph, graph.edges_to(graph.call_end(call)));
}
inline std::vector<std::string> before_work(const Graph& graph, std::uint32_t operation) {
  return texts_of(graph, graph.edges_to(graph.operation_start(operation)));
}

// Of the whole run.
inline Graph graph_of(ProcessBuilder& builder, Lags lags = Lags::kMeasured) {
  const LoadedProcess loaded = builder.take();
  return build_graph(loaded.process, loaded.timeline, choose_stretch(loaded.timeline, std::nullopt), lags);
}

}  // namespace turnpike::analyze
