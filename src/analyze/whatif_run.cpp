// Builds the models of the ranks, asks them once for each change, and once for all of them together.
#include "analyze/whatif_run.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/graph/build.h"
#include "analyze/graph/ranks.h"
#include "analyze/model/collectives.h"
#include "analyze/sums/process_analysis.h"
#include "analyze/whatif/scenario.h"

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
    std::vector<std::shared_ptr<const RunGraph>> runs;
    for (const std::size_t member : group.members) {
      ranks_.emplace_back(processes[member], rates);
      runs.push_back(ranks_.back().model.run());
    }
    meetings_ = rendezvous_of(group.meetings, runs);
    scenario_.emplace(std::move(runs), meetings_, speaker_);
  }

  const ProcessModel& speaker() const { return ranks_[speaker_].model; }
  std::size_t meeting_count() const { return meetings_.size(); }
  Scenario& scenario() { return *scenario_; }

  // What a step of the speaker takes by the dependencies alone; 0: effects before causes.
  double typical_step_ns(Pauses pauses) const {
    std::vector<Graph> graphs;
    for (const Rank& rank : ranks_) {
      const auto& [process, timeline] = rank.loaded;
      graphs.push_back(build_graph(process, timeline, choose_stretch(timeline, rank.model.steps()), Lags::kTypical));
    }
    std::vector<const Graph*> pointers;
    for (const Graph& graph : graphs) pointers.push_back(&graph);
    const auto times_ns = retime_together(pointers, meetings_);
    return times_ns ? step_ns(graphs[speaker_], (*times_ns)[speaker_], pauses) : 0;
  }
  // Of what the changes are made to on the speaker.
  Pauses pauses_for(const std::vector<AskedChange>& changes) const {
    std::vector<NamedChange> made;
    Scenario scenario(speaker());
    for (const AskedChange& asked : changes) {
      const NamedChange named{asked.change, calls_at(speaker(), asked.site)};
      made.push_back({asked.change, scenario.apply(speaker(), named).calls});
    }
    return analyze::pauses_for(speaker(), made);
  }
  // Makes a change on every rank, beside those that were made before.
  Changed change(const AskedChange& asked) {
    Changed changed;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const ProcessModel& model = ranks_[rank].model;
      const Selection calls = calls_at(model, asked.site);
      const Applied applied = scenario_->apply(model, {asked.change, calls}, rank);
      changed.has_calls = changed.has_calls || !calls.empty();
      changed.is_known = changed.is_known && applied.is_known;
      for (const std::uint32_t call : applied.calls) ++changed.count_of_site[model.facts_of_call(call).place.site];
    }
    return changed;
  }
  // This change and no other.
  Changed only(const AskedChange& asked) {
    scenario_->reset();
    return change(asked);
  }

 private:
  std::deque<Rank> ranks_;
  std::size_t speaker_;
  std::vector<Rendezvous> meetings_;
  std::optional<Scenario> scenario_;
};

std::optional<double> predict_step_ns(Ranks& ranks, const std::vector<AskedChange>& changes, Pauses pauses) {
  ranks.scenario().reset();
  for (const AskedChange& asked : changes) {
    if (!ranks.change(asked).is_known) return std::nullopt;
  }
  if (!ranks.scenario().retime()) return std::nullopt;
  return ranks.scenario().prediction(pauses).predicted_ns;
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
std::string misfit_text(Ranks& ranks, const AskedChange& asked, const Changed& changed) {
  const std::string name = analyze::name_of(asked.change);
  const Changed everywhere = ranks.only({asked.change, ""});
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
  Ranks ranks(processes, group, rates);
  const ProcessModel& model = ranks.speaker();
  if (model.graph().calls.empty()) {
    return Error{model.process().path + " holds no calls of CUDA: there is nothing to change."};
  }
  WhatIfAnswer answer;
  answer.step_count = model.step_count();
  const Pauses pauses = ranks.pauses_for(changes);
  answer.measured_step_ns = model.measured_step_ns(pauses);
  answer.retimed_step_ns = ranks.scenario().unchanged_step_ns(pauses);
  answer.typical_step_ns = ranks.typical_step_ns(pauses);
  answer.has_steps = model.steps().has_value();
  answer.is_reliable =
      std::abs(answer.typical_step_ns - answer.measured_step_ns) < kUselessShare * answer.measured_step_ns;
  answer.contradicted_count = model.graph().contradicted_count;
  answer.rank_count = group.members.size();
  answer.meeting_count = ranks.meeting_count();
  answer.has_lost_collectives = group.has_lost_collectives;
  for (const AskedChange& asked : changes) {
    const Changed changed = ranks.only(asked);
    answer.changed.push_back(changed.count());
    if (!asked.site.empty() && changed.count_of_site.empty()) {
      answer.misfits.push_back(misfit_text(ranks, asked, changed));
    }
  }
  answer.predicted_step_ns = predict_step_ns(ranks, changes, pauses);
  return answer;
}

}  // namespace turnpike::analyze
