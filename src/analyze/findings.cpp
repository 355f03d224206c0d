// Re-times what the rules name.
#include "analyze/findings.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analyze/rules/library_advice.h"
#include "analyze/rules/rule_input.h"
#include "analyze/rules/rules.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// Less than this of a step is within what the model cannot tell.
constexpr double kMinSavingPct = 1.0;
constexpr const char* kPages = "docs/rules/";

struct Judged {
  Finding finding;
  std::vector<NamedChange> changes;
  bool reach_begins_at_zero;  // its advice may reach none of what its changes would save
  std::optional<RetimedStep> step{};
};

Finding finding_of(const char* rule, const Candidate& candidate) {
  Finding finding;
  finding.rule = rule;
  finding.severity = candidate.severity;
  finding.title = candidate.title;
  finding.site = candidate.site;
  finding.library_site = candidate.library_site;
  finding.evidence = candidate.evidence;
  finding.advice = candidate.advice;
  if (candidate.library_site) finding.advice = library_advice(rule, *candidate.library_site).value_or(candidate.advice);
  finding.docs = std::string(kPages) + rule + ".md";
  for (const OtherAdvice& other : candidate.others) finding.alternatives.push_back({.advice = other.text});
  return finding;
}

// Where the model misses the recorded step by less than the first share, a saving is taken as it is; by more than the
// second, no saving is claimed. Chosen, not fitted.
constexpr double kTrustedShare = 0.02;
constexpr double kUselessShare = 0.10;

struct SavingRange {
  std::int64_t low_ns;
  std::int64_t high_ns;
};

// What the model of a process is worth.
class Trust {
 public:
  explicit Trust(const ProcessModel& model) : model_(model) {}

  // Of a step; built at the first question.
  double unexplained_share() {
    if (!share_) share_ = model_.unexplained_share();
    return *share_;
  }
  double margin_ns(double step_ns) { return unexplained_share() < kTrustedShare ? 0 : unexplained_share() * step_ns; }

 private:
  const ProcessModel& model_;
  std::optional<double> share_;
};

// Nobody is advised to make a step slower, and none takes less than no time.
SavingRange range_of(double step_ns, double saving_ns, double margin_ns, const Reach& reach) {
  const double low_ns = reach.low * saving_ns - reach.leaves_ns - reach.costs_ns - margin_ns;
  const double high_ns = reach.high * saving_ns - reach.leaves_ns + reach.adds_ns + margin_ns;
  return {std::llround(std::clamp(low_ns, 0.0, step_ns)), std::llround(std::clamp(high_ns, 0.0, step_ns))};
}

void add_ranges(double step_ns, double saving_ns, double margin_ns, const Candidate& candidate, Finding& finding) {
  const SavingRange range = range_of(step_ns, saving_ns, margin_ns, candidate.reach);
  finding.saving_step_low_ns = range.low_ns;
  finding.saving_step_high_ns = range.high_ns;
  finding.saving_reason = candidate.reach.reason;
  for (std::size_t i = 0; i < candidate.others.size(); ++i) {
    const SavingRange other = range_of(step_ns, saving_ns, margin_ns, candidate.others[i].reach);
    finding.alternatives[i].saving_step_low_ns = other.low_ns;
    finding.alternatives[i].saving_step_high_ns = other.high_ns;
  }
}

// False if the candidate is not worth reporting. `shown`: where steps are kept.
bool add_saving(const ProcessModel& model, Trust& trust, TrialGraph& trial, const Candidate& candidate,
                const std::optional<ShownStep>& shown, Judged& judged) {
  const std::vector<NamedChange>& changes = candidate.changes;
  if (changes.empty()) return true;
  const Graph* graph = trial.with(changes);
  const auto times_ns = graph != nullptr ? retime(*graph) : std::nullopt;
  const Pauses pauses = pauses_for(model, changes);
  const auto predicted_ns = !times_ns                    ? std::nullopt
                            : pauses == Pauses::kCounted ? model.step_with_pauses_ns_of(*graph, *times_ns)
                                                         : model.step_ns_of(*graph, *times_ns);
  Finding& finding = judged.finding;
  if (!predicted_ns) return true;  // it is the matter; what it would gain cannot be told
  const double measured_ns = model.measured_step_ns(pauses);
  const double saving_ns = measured_ns - *predicted_ns;
  if (100 * saving_ns / measured_ns < kMinSavingPct) return false;
  if (trust.unexplained_share() > kUselessShare) {
    finding.saving_reason = "no saving is claimed: the dependencies that the recording shows give a step that is " +
                            rounded_percent_text(100 * trust.unexplained_share()) + " off the recorded one";
    return true;
  }
  finding.saving_pct = 100 * saving_ns / measured_ns;
  finding.saving_step_ns = static_cast<std::int64_t>(std::llround(saving_ns));
  const double steps = model.steps() ? static_cast<double>(model.steps()->steps.count) : 1.0;
  finding.saving_ns = static_cast<std::int64_t>(std::llround(saving_ns * steps));
  add_ranges(measured_ns, saving_ns, trust.margin_ns(measured_ns), candidate, finding);
  if (shown) judged.step = retimed_step(*shown, *graph, *times_ns, *predicted_ns);
  return true;
}

// With changes of both, the second made to what the first left.
std::optional<double> saving_pct_of(const ProcessModel& model, TrialGraph& trial, const Judged& first,
                                    const Judged& second) {
  std::vector<NamedChange> changes = first.changes;
  changes.insert(changes.end(), second.changes.begin(), second.changes.end());
  const auto predicted_ns = trial.step_ns_with(changes);
  if (!predicted_ns) return std::nullopt;
  return 100 * (1 - *predicted_ns / model.measured_step_ns());
}

// Changes that leave no copy to be made otherwise.
bool removes_copies(Change change) {
  return change == Change::kHoistUpload || change == Change::kHoistWork || change == Change::kKeepOnDevice ||
         change == Change::kRemoveSync;
}

// Whether most of the calls that `other` is about are not made any more. What is made once, before the loop, is little.
bool takes_away(const Judged& leader, const Judged& other) {
  Selection gone;
  for (const NamedChange& change : leader.changes) {
    if (removes_copies(change.change)) gone.insert(gone.end(), change.calls.begin(), change.calls.end());
  }
  std::sort(gone.begin(), gone.end());
  std::size_t count = 0;
  std::size_t gone_count = 0;
  for (const NamedChange& change : other.changes) {
    count += change.calls.size();
    for (const std::uint32_t call : change.calls) gone_count += std::binary_search(gone.begin(), gone.end(), call);
  }
  return 2 * gone_count > count;
}

// Whether who has done what `leader` says would gain nothing by doing what `other` says too: then they are two answers
// to the same question, and a reader needs one. Where the leader's advice may come to nothing, all of `other` may stay.
bool leaves_nothing_of(const ProcessModel& model, TrialGraph& trial, const Judged& leader, const Judged& other) {
  if (leader.reach_begins_at_zero || !leader.finding.saving_pct || other.changes.empty()) return false;
  if (!other.finding.saving_pct) return takes_away(leader, other);
  if (pauses_for(model, leader.changes) != pauses_for(model, other.changes)) return false;
  const auto both_pct = saving_pct_of(model, trial, leader, other);
  return both_pct && *both_pct - *leader.finding.saving_pct < kMinSavingPct;
}

std::string saving_alone(const Finding& finding) {
  if (!finding.saving_pct) return "";
  return " (" + rounded_percent_text(*finding.saving_pct) + " alone)";
}

// Of findings at one place the first leads, and its evidence names those that it leaves nothing of. `judged`: ranked.
void choose_leaders(const ProcessModel& model, TrialGraph& trial, std::vector<Judged>& judged) {
  for (std::size_t i = 0; i < judged.size(); ++i) {
    Judged& leader = judged[i];
    if (leader.finding.site.empty() || leader.finding.superseded_by) continue;
    std::string settled;
    for (std::size_t j = i + 1; j < judged.size(); ++j) {
      Judged& other = judged[j];
      if (!is_same_place(other.finding, leader.finding) || other.finding.superseded_by) continue;
      if (!leaves_nothing_of(model, trial, leader, other)) continue;
      other.finding.superseded_by = leader.finding.rule;
      settled += (settled.empty() ? "" : ", ") + other.finding.title + saving_alone(other.finding);
    }
    if (!settled.empty()) leader.finding.evidence += "; also seen here, with nothing left to gain then: " + settled;
  }
}

std::vector<NamedChange> changes_of_all(const std::vector<Judged>& judged) {
  std::vector<NamedChange> changes;
  for (const Judged& one : judged) {
    if (one.finding.saving_pct) changes.insert(changes.end(), one.changes.begin(), one.changes.end());
  }
  return changes;
}

// `changes`: of all that are judged.
std::optional<double> saving_of_all(const ProcessModel& model, TrialGraph& trial, const std::vector<Judged>& judged,
                                    const std::vector<NamedChange>& changes) {
  if (changes.empty()) return std::nullopt;
  const auto predicted_ns = trial.step_ns_with(changes);
  if (!predicted_ns) return std::nullopt;
  // Changes that exclude each other can come to less together than the best of them alone.
  double best_pct = 100 * (1 - *predicted_ns / model.measured_step_ns());
  for (const Judged& one : judged) best_pct = std::max(best_pct, one.finding.saving_pct.value_or(0));
  return best_pct;
}

}  // namespace

bool is_same_place(const Finding& a, const Finding& b) {
  return a.site == b.site && a.library_site == b.library_site;
}

bool comes_before(const Finding& a, const Finding& b) {
  const bool is_error_a = a.severity == Severity::kError;
  const bool is_error_b = b.severity == Severity::kError;
  if (is_error_a != is_error_b) return is_error_a;
  return a.saving_pct.value_or(0) > b.saving_pct.value_or(0);
}

FoundFindings find_findings(const ProcessModel& model, bool keeps_steps) {
  FoundFindings found;
  if (model.graph().calls.empty() || model.measured_step_ns() <= 0) return found;
  const RuleInput input = rule_input(model);
  const auto shown = keeps_steps ? shown_step(model) : std::nullopt;
  std::vector<std::pair<const Rule*, Candidate>> candidates;
  for (const Rule& rule : all_rules()) {
    std::vector<Candidate> of_rule;
    rule.find(input, of_rule);
    for (Candidate& candidate : of_rule) candidates.emplace_back(&rule, std::move(candidate));
  }
  // Only now: rules make copies of the graph, too, and one at a time is enough.
  TrialGraph trial(model);
  Trust trust(model);
  std::vector<Judged> judged;
  for (auto& [rule, candidate] : candidates) {
    Judged one{finding_of(rule->name, candidate), {}, candidate.reach.low <= 0};
    if (!add_saving(model, trust, trial, candidate, shown, one)) continue;
    one.changes = std::move(candidate.changes);
    judged.push_back(std::move(one));
  }
  std::stable_sort(judged.begin(), judged.end(),
                   [](const Judged& a, const Judged& b) { return comes_before(a.finding, b.finding); });
  found.all_changes = changes_of_all(judged);
  found.saving_pct_all = saving_of_all(model, trial, judged, found.all_changes);
  choose_leaders(model, trial, judged);
  for (Judged& one : judged) {
    found.findings.push_back(std::move(one.finding));
    found.changes.push_back(std::move(one.changes));
    found.steps.push_back(std::move(one.step));
  }
  return found;
}

}  // namespace turnpike::analyze
