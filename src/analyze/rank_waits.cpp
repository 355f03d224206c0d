// Sums up the waits of all meetings.
#include "analyze/rank_waits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "analyze/cost_model.h"
#include "analyze/graph/ranks.h"
#include "analyze/rules/measure.h"
#include "analyze/sums/idle_table.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {
namespace {

// Of a step, in per cent: less of a wait is not worth to be told.
constexpr double kMinPct = 1.0;
// Less of a rank's own saving is limited by the others.
constexpr double kLimited = 0.99;

// Empty where a change cannot be predicted.
EditedEdges edits_of(Scenario& scenario, const ProcessModel& model, std::span<const NamedChange> changes) {
  scenario.reset();
  for (const NamedChange& change : changes) {
    if (!scenario.apply(model, change).is_known) return {};
  }
  return scenario.edits();
}

RankWait wait_of(std::span<const Meeting> meetings, const RankRun& run, std::size_t rank) {
  std::vector<Interval> waits;
  std::map<std::pair<std::size_t, std::string_view>, std::int64_t> wait_by_cause;
  for (const Meeting& meeting : meetings) {
    const std::int64_t start_ns = std::max(meeting.kernels[rank].start_ns, run.window.start_ns);
    const std::int64_t end_ns = std::min(meeting.kernels[rank].start_ns + meeting.wait_ns(rank), run.window.end_ns);
    if (end_ns <= start_ns) continue;
    waits.push_back({start_ns, end_ns});
    const std::int64_t alone_ns = end_ns - start_ns - run.other_kernels.covered_ns(start_ns, end_ns);
    wait_by_cause[{meeting.last_rank, meeting.collective}] += alone_ns;
  }
  RankWait wait;
  const std::int64_t total_ns = IntervalSet(std::move(waits)).subtract(run.other_kernels).total_ns();
  wait.step_ns = total_ns / static_cast<std::int64_t>(std::max<std::uint64_t>(run.step_count, 1));
  std::int64_t most_ns = 0;
  for (const auto& [cause, cause_ns] : wait_by_cause) {
    if (cause_ns <= most_ns) continue;
    most_ns = cause_ns;
    std::tie(wait.awaited_rank, wait.collective) = cause;
  }
  return wait;
}

std::optional<std::vector<Meeting>> meetings_of(std::span<const RankRun> ranks) {
  std::vector<RankCollectives> collectives;
  for (const RankRun& run : ranks) collectives.push_back(run.collectives);
  return match_collectives(collectives);
}

// Where collectives of several streams wait at once, the one that began first counts to its end.
std::vector<RankWaitInterval> intervals_of(std::span<const Meeting> meetings, const IntervalSet& other_kernels,
                                           std::size_t rank) {
  std::vector<RankWaitInterval> waits;
  for (const Meeting& meeting : meetings) {
    const RankCollectives::Kernel& kernel = meeting.kernels[rank];
    const Interval time{kernel.start_ns, kernel.start_ns + meeting.wait_ns(rank)};
    const IntervalSet alone = IntervalSet({time}).subtract(other_kernels.part(time.start_ns, time.end_ns));
    for (const Interval& part : alone.intervals()) {
      waits.push_back({part, kernel.device, meeting.last_rank, meeting.collective});
    }
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; });
  std::int64_t reached_ns = std::numeric_limits<std::int64_t>::min();
  for (RankWaitInterval& wait : waits) {
    wait.time.start_ns = std::max(wait.time.start_ns, reached_ns);
    reached_ns = std::max(reached_ns, wait.time.end_ns);
  }
  std::erase_if(waits, [](const RankWaitInterval& wait) { return wait.time.start_ns >= wait.time.end_ns; });
  return waits;
}

}  // namespace

std::optional<RankRun> rank_run(const trace::Process& process, const Timeline& timeline, const Interval& window,
                                std::uint64_t step_count) {
  RankRun run{.collectives = collectives_of(process, timeline),
              .other_kernels = {},
              .window = window,
              .step_count = step_count};
  if (run.collectives.streams.empty()) return std::nullopt;
  std::vector<bool> is_collective(timeline.kernels.size(), false);
  for (const auto& stream : run.collectives.streams) {
    for (const auto& kernel : stream) is_collective[kernel.kernel] = true;
  }
  std::vector<Interval> others;
  for (std::size_t index = 0; index < timeline.kernels.size(); ++index) {
    const Kernel& kernel = timeline.kernels[index];
    if (kernel.has_times() && !is_collective[index]) others.push_back({kernel.start_ns, kernel.end_ns});
  }
  run.other_kernels = IntervalSet(std::move(others));
  return run;
}

std::optional<std::vector<RankWait>> rank_waits(std::span<const RankRun> ranks) {
  const auto meetings = meetings_of(ranks);
  if (!meetings) return std::nullopt;
  std::vector<RankWait> waits;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) waits.push_back(wait_of(*meetings, ranks[rank], rank));
  return waits;
}

std::optional<std::vector<std::vector<RankWaitInterval>>> rank_wait_intervals(std::span<const RankRun> ranks) {
  const auto meetings = meetings_of(ranks);
  if (!meetings) return std::nullopt;
  std::vector<std::vector<RankWaitInterval>> waits;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    waits.push_back(intervals_of(*meetings, ranks[rank].other_kernels, rank));
  }
  return waits;
}

RankSavings rank_savings(const ProcessModel& model, const FoundFindings& found) {
  std::map<RankSavings::Key, std::vector<NamedChange>> changes_of;
  for (const TriedChanges& tried : found.tried) {
    auto& changes = changes_of[{tried.rule, tried.site, tried.library_site.value_or("")}];
    changes.insert(changes.end(), tried.changes.begin(), tried.changes.end());
  }
  RankSavings savings{.graph = model.run(), .call_count = model.timeline().calls.size(), .pauses = found.pauses};
  Scenario scenario(model);
  for (const auto& [key, changes] : changes_of) savings.tried[key] = edits_of(scenario, model, changes);
  savings.all = edits_of(scenario, model, found.all_changes);
  return savings;
}

void RankEffects::add(RankRun run, double measured_step_ns, RankSavings savings) {
  runs_.push_back(std::move(run));
  members_.push_back({measured_step_ns, std::move(savings)});
  if (members_.size() <= kMostTogether) return;
  for (Member& one : members_) one.savings = {};
}

void RankEffects::apply_to(Report& report) const {
  if (runs_.size() < 2) return;
  const auto waits = rank_waits(runs_);
  if (!waits) {
    report.verdict.why += " Which collectives of the processes belong together could not be told.";
    return;
  }
  report.verdict.why += sentence_of(*waits);
  if (runs_.size() <= kMostTogether) {
    retime_savings(report);
  } else if (!report.findings.empty()) {
    report.verdict.why += " Savings are those of one rank alone, as there are more than " +
                          std::to_string(kMostTogether) + ": others may keep it waiting.";
  }
  add_idle(report);
}

// By device: the line that asked for a collective is not known, as launches carry no stack.
void RankEffects::add_idle(Report& report) const {
  const auto waits = rank_wait_intervals(runs_);
  if (!waits) return;
  std::map<std::uint32_t, IdleSite> by_device;
  for (std::size_t rank = 0; rank < waits->size(); ++rank) {
    const IntervalSet steps = report.steps ? IntervalSet({runs_[rank].window}) : IntervalSet();
    for (const RankWaitInterval& wait : (*waits)[rank]) add_stretch(by_device[wait.device], wait.time, steps);
  }
  for (auto& [device, site] : by_device) {
    site.device = device;
    site.cause = IdleCause::kRank;
    report.idle.push_back(std::move(site));
  }
}

// Of the rank that waits most.
std::string RankEffects::sentence_of(std::span<const RankWait> waits) const {
  const auto name_of = [&](std::size_t rank) {
    const std::string& given = runs_[rank].collectives.rank;
    return given.empty() ? std::to_string(rank) : given;
  };
  const auto share_pct = [&](std::size_t rank) {
    const double step_ns = members_[rank].measured_step_ns;
    return step_ns > 0 ? 100 * static_cast<double>(waits[rank].step_ns) / step_ns : 0;
  };
  std::size_t most = 0;
  std::size_t waiting_count = 0;
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    if (share_pct(rank) >= kMinPct) ++waiting_count;
    if (share_pct(rank) > share_pct(most)) most = rank;
  }
  if (waiting_count == 0) return "";
  std::string text = " Rank " + name_of(most) + " waited " + time_text(static_cast<double>(waits[most].step_ns));
  if (runs_[most].step_count > 1) text += " a step";
  text += " in collectives with nothing else to run, mostly for rank " + name_of(waits[most].awaited_rank) + " in " +
          std::string(waits[most].collective);
  if (waiting_count > 1) {
    text += "; " + std::to_string(waiting_count - 1) + (waiting_count == 2 ? " other rank" : " other ranks") +
            " waited too";
  }
  return text + ".";
}

namespace {

// A finding of one rank becomes one of all: its amounts shrink or grow with what is predicted.
void set_saving(Finding& finding, const Prediction& prediction) {
  const double own_ns = static_cast<double>(*finding.saving_step_ns);
  const double part = std::max(0.0, prediction.saving_ns()) / own_ns;
  finding.saving_step_ns = std::llround(prediction.saving_ns());
  finding.saving_pct = prediction.saving_pct();
  for (auto* const amount :
       {&finding.saving_step_low_ns, &finding.saving_step_expected_ns, &finding.saving_step_high_ns}) {
    if (*amount) *amount = std::llround(std::min(part * static_cast<double>(**amount), prediction.measured_ns));
  }
  if (finding.saving_ns) finding.saving_ns = std::llround(part * static_cast<double>(*finding.saving_ns));
  if (part < kLimited) finding.evidence += "; the ranks wait for each other, which limits what this one gains";
}

}  // namespace

void RankEffects::retime_savings(Report& report) const {
  const auto meetings = meetings_of(runs_);
  std::vector<std::shared_ptr<const RunGraph>> graphs;
  for (const Member& member : members_) {
    if (member.savings.graph != nullptr) graphs.push_back(member.savings.graph);
  }
  if (!meetings || graphs.size() < members_.size()) return;
  const auto speaker = std::max_element(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
    return a.savings.call_count < b.savings.call_count;
  });
  Scenario scenario(graphs, rendezvous_of(*meetings, graphs), static_cast<std::size_t>(speaker - members_.begin()));
  const auto predict_with = [&](const auto& edits_of) -> std::optional<Prediction> {
    scenario.reset();
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (const EditedEdges* edits = edits_of(members_[rank].savings)) scenario.apply(*edits, rank);
    }
    return scenario.retime() ? std::optional(scenario.prediction(speaker->savings.pauses)) : std::nullopt;
  };
  for (Finding& finding : report.findings) {
    if (finding.saving_step_ns.value_or(0) <= 0) continue;
    const RankSavings::Key key{finding.rule, finding.site, finding.library_site.value_or("")};
    const auto prediction = predict_with([&](const RankSavings& rank) {
      const auto found = rank.tried.find(key);
      return found == rank.tried.end() ? nullptr : &found->second;
    });
    if (prediction) set_saving(finding, *prediction);
  }
  std::erase_if(report.findings,
                [](const Finding& finding) { return finding.saving_pct && *finding.saving_pct < kMinSavingPct; });
  if (!report.saving_pct_all) return;
  if (const auto all = predict_with([](const RankSavings& rank) { return &rank.all; })) {
    report.saving_pct_all = std::max(0.0, all->saving_pct());
  }
  for (const Finding& finding : report.findings) {
    report.saving_pct_all = std::max(report.saving_pct_all, finding.saving_pct);
  }
}

}  // namespace turnpike::analyze
