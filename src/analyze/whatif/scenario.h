// What a step takes with changes: every prediction is made here, for one process or for ranks that meet in collectives.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyze/graph/edits.h"
#include "analyze/graph/process_model.h"
#include "analyze/graph/ranks.h"
#include "analyze/graph/run_graph.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// What steps take on average as measured and with changes, both with pauses or both without.
struct Prediction {
  double measured_ns = 0;
  double predicted_ns = 0;

  double saving_ns() const { return measured_ns - predicted_ns; }
  double saving_pct() const { return 100 * saving_ns() / measured_ns; }
};

// Takes one list of changes after another. Copies the graphs at the first change, and then puts back what the last list
// changed, which is far less.
class Scenario {
 public:
  explicit Scenario(const ProcessModel& model) : Scenario({model.run()}, {}, 0) {}
  // Ranks that are re-timed together. `speaker`: the one whose step is told.
  Scenario(std::vector<std::shared_ptr<const RunGraph>> ranks, std::vector<Rendezvous> meetings, std::size_t speaker);

  // Without any change, again.
  void reset();
  // Adds a change to a rank, of which `model` is that of its records.
  Applied apply(const ProcessModel& model, const NamedChange& change, std::size_t rank = 0);
  void apply(const EditedEdges& edits, std::size_t rank);
  EditedEdges edits(std::size_t rank = 0) const;

  // Re-times all ranks. False: a change makes no sense (it has effects before causes).
  bool retime();
  // What a step of the speaker takes without any change, re-timed.
  double unchanged_step_ns(Pauses pauses) const;
  // Of the last retime().
  Prediction prediction(Pauses pauses) const;
  const Graph& graph(std::size_t rank = 0) const { return graphs_.empty() ? ranks_[rank]->graph : graphs_[rank]; }
  std::span<const std::int64_t> times_ns(std::size_t rank = 0) const { return times_ns_[rank]; }

  // These changes and no others, on one process, and re-timed. False, or nullopt: one of them cannot be predicted.
  bool try_changes(const ProcessModel& model, std::span<const NamedChange> changes);
  std::optional<Prediction> predict(const ProcessModel& model, std::span<const NamedChange> changes,
                                    Pauses pauses = Pauses::kLeftOut);

 private:
  using Times = std::vector<std::vector<std::int64_t>>;  // by rank

  Graph& copy_of(std::size_t rank);
  std::optional<Times> times_of_graphs() const;
  bool settle_links(std::span<const std::vector<double>> alone_ns);

  std::vector<std::shared_ptr<const RunGraph>> ranks_;
  std::vector<Rendezvous> meetings_;
  std::size_t speaker_;
  std::vector<Graph> graphs_;  // by rank; empty before the first change
  Times times_ns_;
  std::array<double, 2> together_ns_{};  // of the unchanged ranks, by Pauses; those of one alone are its RunGraph's
};

// One list of changes on one process.
std::optional<Prediction> predict(const ProcessModel& model, std::span<const NamedChange> changes,
                                  Pauses pauses = Pauses::kLeftOut);

}  // namespace turnpike::analyze
