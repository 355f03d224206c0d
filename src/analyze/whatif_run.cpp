// Builds the models of the ranks, asks them once for each change, and once for all of them together.
#include "analyze/whatif_run.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/graph/build.h"
#include "analyze/graph/ranks.h"
#include "analyze/model/collectives.h"
#include "analyze/sums/process_analysis.h"

namespace turnpike::analyze {
namespace {

// A process with its model, which refers to the rest.
struct Rank {
  Rank(const LoadedProcess& process, const LinkRates& rates)
      : loaded(process),
        analysis(sums, process.process, process.timeline),
        model(analysis.model(analysis.steps(), rates)) {}

  const LoadedProcess& loaded;
  RunSums sums;
  ProcessAnalysis analysis;
  ProcessModel model;
};

// Which processes are re-timed together, and where they meet.
struct Group {
  std::vector<std::size_t> members;  // indices of processes
  std::size_t speaker = 0;           // index of a member
  std::vector<Meeting> meetings;
  bool has_lost_collectives = false;
};

Group group_of(std::span<const LoadedProcess> processes) {
  const auto busiest = std::max_element(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
    return a.timeline.calls.size() < b.timeline.calls.size();
  });
  const auto busiest_index = static_cast<std::size_t>(busiest - processes.begin());
  Group group;
  std::vector<RankCollectives> ranks;
  for (std::size_t index = 0; index < processes.size(); ++index) {
    RankCollectives rank = collectives_of(processes[index].process, processes[index].timeline);
    if (rank.streams.empty()) continue;
    if (index == busiest_index) group.speaker = group.members.size();
    group.members.push_back(index);
    ranks.push_back(std::move(rank));
  }
  const bool is_in = std::find(group.members.begin(), group.members.end(), busiest_index) != group.members.end();
  auto meetings = is_in ? match_collectives(ranks) : std::nullopt;
  if (meetings) {
    group.meetings = std::move(*meetings);
    return group;
  }
  return {.members = {busiest_index}, .speaker = 0, .meetings = {}, .has_lost_collectives = is_in && ranks.size() > 1};
}

// The meetings whose kernels lie in the stretches of all ranks; the others keep their measured durations.
std::vector<Rendezvous> rendezvous_of(const std::vector<Meeting>& meetings, const std::deque<Rank>& ranks) {
  std::vector<std::unordered_map<std::uint32_t, std::uint32_t>> operation_of_kernel(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size() && !meetings.empty(); ++rank) {
    const auto& operations = ranks[rank].model.graph().operations;
    for (std::uint32_t index = 0; index < operations.size(); ++index) {
      if (operations[index].kernel != kNone) operation_of_kernel[rank][operations[index].kernel] = index;
    }
  }
  std::vector<Rendezvous> found;
  for (const Meeting& meeting : meetings) {
    Rendezvous one;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto operation = operation_of_kernel[rank].find(meeting.kernels[rank].kernel);
      if (operation == operation_of_kernel[rank].end()) break;
      one.parts.push_back({operation->second, meeting.transfer_ns(rank)});
    }
    if (one.parts.size() == ranks.size()) found.push_back(std::move(one));
  }
  return found;
}

// What became of a change on all ranks.
struct Changed {
  bool has_calls = false;  // at the site that was asked for
  bool is_known = true;    // what it gives
  std::map<std::string, std::size_t> count_of_site{};

  std::size_t count() const {
    return std::accumulate(count_of_site.begin(), count_of_site.end(), std::size_t{0},
                           [](std::size_t sum, const auto& entry) { return sum + entry.second; });
  }
};

class Ranks {
 public:
  Ranks(std::span<const LoadedProcess> processes, const Group& group, const LinkRates& rates)
      : speaker_(group.speaker) {
    for (const std::size_t member : group.members) ranks_.emplace_back(processes[member], rates);
    meetings_ = rendezvous_of(group.meetings, ranks_);
  }

  const ProcessModel& speaker() const { return ranks_[speaker_].model; }
  std::size_t meeting_count() const { return meetings_.size(); }

  std::vector<Graph> graphs() const {
    std::vector<Graph> graphs;
    for (const Rank& rank : ranks_) graphs.push_back(rank.model.graph());
    return graphs;
  }
  std::vector<Graph> typical_graphs() const {
    std::vector<Graph> graphs;
    for (const Rank& rank : ranks_) {
      const auto& [process, timeline] = rank.loaded;
      const Stretch stretch = choose_stretch(timeline, rank.model.steps());
      graphs.push_back(build_graph(process, timeline, stretch, Lags::kTypical));
    }
    return graphs;
  }
  // What a step of the speaker takes; nullopt: effects before causes.
  std::optional<double> step_ns_of(const std::vector<Graph>& graphs, Pauses pauses) const {
    std::vector<const Graph*> pointers;
    for (const Graph& graph : graphs) pointers.push_back(&graph);
    const auto times_ns = retime_together(pointers, meetings_);
    if (!times_ns) return std::nullopt;
    return step_ns(graphs[speaker_], (*times_ns)[speaker_], pauses);
  }
  // Of the speaker.
  double least_step_ns(const std::vector<Graph>& graphs, Pauses pauses) const {
    return speaker().least_step_ns(graphs[speaker_], pauses);
  }
  // Of what the changes were made to on the speaker.
  Pauses pauses_for(const std::vector<AskedChange>& changes) const {
    std::vector<NamedChange> made;
    Graph graph = speaker().graph();
    for (const AskedChange& asked : changes) {
      made.push_back({asked.change, apply(speaker(), graph, asked.change, calls_at(speaker(), asked.site)).calls});
    }
    return analyze::pauses_for(speaker(), made);
  }
  // Makes a change on every rank.
  Changed change(std::vector<Graph>& graphs, const AskedChange& asked) const {
    Changed changed;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const ProcessModel& model = ranks_[rank].model;
      const Selection calls = calls_at(model, asked.site);
      const Applied applied = apply(model, graphs[rank], asked.change, calls);
      changed.has_calls = changed.has_calls || !calls.empty();
      changed.is_known = changed.is_known && applied.is_known;
      for (const std::uint32_t call : applied.calls) ++changed.count_of_site[model.facts_of_call(call).place.site];
    }
    return changed;
  }

 private:
  std::deque<Rank> ranks_;
  std::size_t speaker_;
  std::vector<Rendezvous> meetings_;
};

std::optional<double> predict(const Ranks& ranks, const std::vector<AskedChange>& changes, Pauses pauses,
                              const WhatIfAnswer& unchanged) {
  std::vector<Graph> graphs = ranks.graphs();
  for (const AskedChange& asked : changes) {
    if (!ranks.change(graphs, asked).is_known) return std::nullopt;
  }
  const auto step_ns = ranks.step_ns_of(graphs, pauses);
  if (!step_ns || unchanged.retimed_step_ns <= 0) return std::nullopt;
  return std::max(*step_ns / unchanged.retimed_step_ns * unchanged.measured_step_ns,
                  ranks.least_step_ns(graphs, pauses));
}

// "train.py:34 (40 calls), train.py:30 (2 calls)", most first.
std::string places_text(const std::map<std::string, std::size_t>& count_of_site) {
  constexpr std::size_t kMostPlaces = 5;
  std::vector<std::pair<std::string, std::size_t>> places(count_of_site.begin(), count_of_site.end());
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    const auto& [site, count] = places[i];
    text += (text.empty() ? "" : ", ") + (site.empty() ? "an unknown place" : site) + " (" + std::to_string(count) +
            (count == 1 ? " call)" : " calls)");
  }
  if (places.size() > kMostPlaces) text += ", and " + std::to_string(places.size() - kMostPlaces) + " more";
  return text;
}

// Why a change at a site was made to nothing, and where it could be made.
std::string misfit_text(const Ranks& ranks, const AskedChange& asked, const Changed& changed) {
  const std::string name = analyze::name_of(asked.change);
  std::vector<Graph> graphs = ranks.graphs();
  const Changed everywhere = ranks.change(graphs, {asked.change, ""});
  return (changed.has_calls ? "At " + asked.site + " there is nothing that " + name + " could change. "
                            : "No call of CUDA in the steps that are re-timed is at " + asked.site + ". ") +
         (everywhere.count_of_site.empty() ? name + " fits nothing in this run."
                                           : name + " fits " + places_text(everywhere.count_of_site) + ".");
}

}  // namespace

Result<WhatIfAnswer> what_if(std::span<const LoadedProcess> processes, const std::vector<AskedChange>& changes,
                             const LinkRates& rates) {
  if (processes.empty()) return Error{"The run holds no process: there is nothing to change."};
  const Group group = group_of(processes);
  const Ranks ranks(processes, group, rates);
  const ProcessModel& model = ranks.speaker();
  if (model.graph().calls.empty()) {
    return Error{model.process().path + " holds no calls of CUDA: there is nothing to change."};
  }
  WhatIfAnswer answer;
  answer.step_count = model.step_count();
  const Pauses pauses = ranks.pauses_for(changes);
  answer.measured_step_ns = model.measured_step_ns(pauses);
  answer.retimed_step_ns = ranks.step_ns_of(ranks.graphs(), pauses).value_or(0);
  answer.typical_step_ns = ranks.step_ns_of(ranks.typical_graphs(), pauses).value_or(0);
  answer.contradicted_count = model.graph().contradicted_count;
  answer.rank_count = group.members.size();
  answer.meeting_count = ranks.meeting_count();
  answer.has_lost_collectives = group.has_lost_collectives;
  for (const AskedChange& asked : changes) {
    std::vector<Graph> graphs = ranks.graphs();
    const Changed changed = ranks.change(graphs, asked);
    answer.changed.push_back(changed.count());
    if (!asked.site.empty() && changed.count_of_site.empty()) {
      answer.misfits.push_back(misfit_text(ranks, asked, changed));
    }
  }
  answer.predicted_step_ns = predict(ranks, changes, pauses, answer);
  return answer;
}

}  // namespace turnpike::analyze
