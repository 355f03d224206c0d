// Applies changes to copies of the graphs, and re-times these alone or together.
#include "analyze/whatif/scenario.h"

#include <algorithm>
#include <utility>

namespace turnpike::analyze {
namespace {

// Each time copies that meet take longer, they may meet others: so often at most. What is left then is small.
constexpr int kMostRounds = 8;

}  // namespace

Scenario::Scenario(std::vector<std::shared_ptr<const RunGraph>> ranks, std::vector<Rendezvous> meetings,
                   std::size_t speaker)
    : ranks_(std::move(ranks)), meetings_(std::move(meetings)), speaker_(speaker) {
  if (ranks_.size() == 1) return;
  const auto times_ns = times_of_graphs();
  if (!times_ns) return;
  for (const Pauses pauses : {Pauses::kLeftOut, Pauses::kCounted}) {
    together_ns_[static_cast<std::size_t>(pauses)] = step_ns(graph(speaker_), (*times_ns)[speaker_], pauses);
  }
}

Graph& Scenario::copy_of(std::size_t rank) {
  if (graphs_.empty()) {
    for (const auto& one : ranks_) graphs_.push_back(one->graph);
  }
  return graphs_[rank];
}

void Scenario::reset() {
  for (std::size_t rank = 0; rank < graphs_.size(); ++rank) restore(graphs_[rank], ranks_[rank]->graph);
}

Applied Scenario::apply(const ProcessModel& model, const NamedChange& change, std::size_t rank) {
  return analyze::apply(model, copy_of(rank), change.change, change.calls, change.ahead);
}

void Scenario::apply(const EditedEdges& edits, std::size_t rank) {
  make_again(copy_of(rank), edits);
}

EditedEdges Scenario::edits(std::size_t rank) const {
  return edited_edges(graph(rank), ranks_[rank]->graph);
}

std::optional<Scenario::Times> Scenario::times_of_graphs() const {
  if (ranks_.size() == 1) {
    auto times_ns = analyze::retime(graph());
    if (!times_ns) return std::nullopt;
    Times times;
    times.push_back(std::move(*times_ns));
    return times;
  }
  std::vector<const Graph*> graphs;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) graphs.push_back(&graph(rank));
  return retime_together(graphs, meetings_);
}

bool Scenario::settle_links(std::span<const std::vector<double>> alone_ns) {
  bool has_changed = false;
  for (std::size_t rank = 0; rank < graphs_.size(); ++rank) {
    if (alone_ns[rank].empty()) continue;
    has_changed = ranks_[rank]->sharing.settle(graphs_[rank], times_ns_[rank], alone_ns[rank]) || has_changed;
  }
  return has_changed;
}

bool Scenario::retime() {
  std::vector<std::vector<double>> alone_ns;
  for (std::size_t rank = 0; rank < graphs_.size(); ++rank) {
    alone_ns.push_back(ranks_[rank]->sharing.alone_ns(graphs_[rank]));
  }
  for (int round = 0; round <= kMostRounds; ++round) {
    auto times_ns = times_of_graphs();
    if (!times_ns) return false;
    times_ns_ = std::move(*times_ns);
    if (round == kMostRounds || !settle_links(alone_ns)) break;
  }
  return unchanged_step_ns(Pauses::kLeftOut) > 0 || unchanged_step_ns(Pauses::kCounted) > 0;
}

double Scenario::unchanged_step_ns(Pauses pauses) const {
  return ranks_.size() == 1 ? ranks_.front()->step(pauses).retimed_ns : together_ns_[static_cast<std::size_t>(pauses)];
}

Prediction Scenario::prediction(Pauses pauses) const {
  const double measured_ns = ranks_[speaker_]->step(pauses).measured_ns;
  const double unchanged_ns = unchanged_step_ns(pauses);
  if (unchanged_ns <= 0) return {measured_ns, measured_ns};
  double predicted_ns = step_ns(graph(speaker_), times_ns_[speaker_], pauses) / unchanged_ns * measured_ns;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& least = ranks_[rank]->least_step;
    if (least) predicted_ns = std::max(predicted_ns, least->of(graph(rank), pauses));
  }
  return {measured_ns, predicted_ns};
}

bool Scenario::try_changes(const ProcessModel& model, std::span<const NamedChange> changes) {
  reset();
  return std::all_of(changes.begin(), changes.end(),
                     [&](const NamedChange& change) { return apply(model, change).is_known; }) &&
         retime();
}

std::optional<Prediction> Scenario::predict(const ProcessModel& model, std::span<const NamedChange> changes,
                                            Pauses pauses) {
  return try_changes(model, changes) ? std::optional(prediction(pauses)) : std::nullopt;
}

std::optional<Prediction> predict(const ProcessModel& model, std::span<const NamedChange> changes, Pauses pauses) {
  return Scenario(model).predict(model, changes, pauses);
}

}  // namespace turnpike::analyze
