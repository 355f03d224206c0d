// Re-times what the rules name.
#include "analyze/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/rules/library_advice.h"
#include "analyze/rules/rule_input.h"
#include "analyze/rules/rules.h"
#include "analyze/step_evidence.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPages = "docs/rules/";

using Predictions = std::array<std::optional<Prediction>, 2>;  // by Pauses

struct Judged {
  Finding finding;
  Reach reach;
  std::vector<Reach> other_reaches;  // of the finding's alternatives
  std::vector<NamedChange> changes;
  Pauses pauses;              // whether the changes concern what is done in pauses
  Predictions predictions{};  // known where a saving is claimed
  std::optional<RetimedStep> step{};

  const std::optional<Prediction>& prediction(Pauses of) const { return predictions[static_cast<std::size_t>(of)]; }
};

// Of a line of a library the user can change the settings, not the line.
void advise_on_library(Finding& finding) {
  finding.edit = {};
  if (auto advice = library_advice(finding.rule, *finding.library_site)) finding.advice = std::move(*advice);
}

Finding finding_of(const char* rule, const Candidate& candidate) {
  Finding finding;
  finding.rule = rule;
  finding.severity = candidate.severity;
  finding.title = candidate.title;
  finding.site = candidate.where.site;
  finding.library_site = candidate.where.library_site;
  finding.file = candidate.where.file;
  finding.line = candidate.where.line;
  finding.function = candidate.where.function;
  finding.op = candidate.where.op;
  finding.evidence = candidate.evidence;
  finding.advice = candidate.advice;
  finding.edit = candidate.edit;
  if (finding.library_site) advise_on_library(finding);
  finding.docs = std::string(kPages) + rule + ".md";
  for (const OtherAdvice& other : candidate.others) finding.alternatives.push_back({.advice = other.text});
  return finding;
}

Judged to_judge(const ProcessModel& model, const char* rule, Candidate candidate) {
  Judged judged{.finding = finding_of(rule, candidate),
                .reach = candidate.reach,
                .other_reaches = {},
                .changes = std::move(candidate.changes),
                .pauses = Pauses::kLeftOut};
  judged.finding.per_step = step_evidence(model, judged.changes);
  for (const OtherAdvice& other : candidate.others) judged.other_reaches.push_back(other.reach);
  judged.pauses = pauses_for(model, judged.changes);
  return judged;
}

// What the model of a process is worth.
class Trust {
 public:
  explicit Trust(const ProcessModel& model) : model_(model) {}

  // Of a step; built at the first question.
  double unexplained_share() {
    if (!is_known_) share_ = model_.unexplained_share();
    is_known_ = true;
    return share_;
  }
  double margin_ns(double step_ns) { return unexplained_share() < kTrustedShare ? 0 : unexplained_share() * step_ns; }

 private:
  const ProcessModel& model_;
  double share_ = 0;
  bool is_known_ = false;
};

struct Amounts {
  std::int64_t low_ns;
  std::int64_t expected_ns;
  std::int64_t high_ns;
};

// Nobody is advised to make a step slower, and none takes less than no time.
Amounts amounts_of(const Prediction& prediction, double margin_ns, const Reach& reach) {
  const auto possible_ns = [&](double ns) { return std::llround(std::clamp(ns, 0.0, prediction.measured_ns)); };
  const double low_ns = reach.low * prediction.saving_ns() - reach.leaves_ns;
  const double high_ns = reach.high * prediction.saving_ns() - reach.leaves_ns;
  return {possible_ns(low_ns - reach.costs_ns - margin_ns), possible_ns((low_ns + high_ns) / 2),
          possible_ns(high_ns + reach.adds_ns + margin_ns)};
}

std::string unclaimed_text(double unexplained_share) {
  return "no saving is claimed: the dependencies that the recording shows give a step that is " +
         rounded_percent_text(100 * unexplained_share) + " off the recorded one";
}

// Re-times what a candidate changes; false if it is not worth reporting. One whose gain cannot be told is the matter
// all the same. `shown`: where steps are kept.
bool judge(const ProcessModel& model, Trust& trust, Scenario& scenario, const std::optional<ShownStep>& shown,
           Judged& judged) {
  if (judged.changes.empty() || !scenario.try_changes(model, judged.changes)) return true;
  if (scenario.prediction(judged.pauses).saving_pct() < kMinSavingPct) return false;
  if (trust.unexplained_share() > kUselessShare) {
    judged.finding.saving_reason = unclaimed_text(trust.unexplained_share());
    return true;
  }
  for (const Pauses pauses : {Pauses::kLeftOut, Pauses::kCounted}) {
    judged.predictions[static_cast<std::size_t>(pauses)] = scenario.prediction(pauses);
  }
  if (shown) judged.step = retimed_step(*shown, scenario, judged.pauses);
  return true;
}

// All savings are of the same steps, so that they can be compared: those with pauses where one concerns pauses.
Pauses common_base(const std::vector<Judged>& judged) {
  const bool has_pauses = std::any_of(judged.begin(), judged.end(), [](const Judged& one) {
    return one.pauses == Pauses::kCounted && one.prediction(one.pauses);
  });
  return has_pauses ? Pauses::kCounted : Pauses::kLeftOut;
}

void add_saving(const ProcessModel& model, Trust& trust, Pauses base, Judged& judged) {
  if (!judged.prediction(base)) return;
  const Prediction& prediction = *judged.prediction(base);
  const double margin_ns = trust.margin_ns(prediction.measured_ns);
  Finding& finding = judged.finding;
  finding.saving_pct = prediction.saving_pct();
  finding.saving_step_ns = std::llround(prediction.saving_ns());
  const double steps = model.steps() ? static_cast<double>(model.steps()->steps.count) : 1.0;
  finding.saving_ns = std::llround(prediction.saving_ns() * steps);
  const Amounts amounts = amounts_of(prediction, margin_ns, judged.reach);
  finding.saving_step_low_ns = amounts.low_ns;
  finding.saving_step_high_ns = amounts.high_ns;
  finding.saving_step_expected_ns = amounts.expected_ns;
  finding.saving_reason = judged.reach.reason;
  for (std::size_t i = 0; i < judged.other_reaches.size(); ++i) {
    const Amounts other = amounts_of(prediction, margin_ns, judged.other_reaches[i]);
    finding.alternatives[i].saving_step_low_ns = other.low_ns;
    finding.alternatives[i].saving_step_high_ns = other.high_ns;
    finding.alternatives[i].saving_step_expected_ns = other.expected_ns;
  }
  if (judged.step) judged.step->predicted_step_ns = prediction.predicted_ns;
}

// With changes of both, the second made to what the first left.
std::optional<double> saving_pct_of(const ProcessModel& model, Scenario& scenario, Pauses base, const Judged& first,
                                    const Judged& second) {
  std::vector<NamedChange> changes = first.changes;
  changes.insert(changes.end(), second.changes.begin(), second.changes.end());
  const auto prediction = scenario.predict(model, changes, base);
  return prediction ? std::optional(prediction->saving_pct()) : std::nullopt;
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
bool leaves_nothing_of(const ProcessModel& model, Scenario& scenario, Pauses base, const Judged& leader,
                       const Judged& other) {
  if (leader.reach.low <= 0 || !leader.finding.saving_pct || other.changes.empty()) return false;
  if (!other.finding.saving_pct) return takes_away(leader, other);
  if (leader.pauses != other.pauses) return false;
  const auto both_pct = saving_pct_of(model, scenario, base, leader, other);
  return both_pct && *both_pct - *leader.finding.saving_pct < kMinSavingPct;
}

Selection calls_of(const Judged& one) {
  Selection calls;
  for (const NamedChange& change : one.changes) calls.insert(calls.end(), change.calls.begin(), change.calls.end());
  std::sort(calls.begin(), calls.end());
  return calls;
}

bool share_calls(const Judged& a, const Judged& b) {
  Selection both;
  const Selection of_a = calls_of(a);
  const Selection of_b = calls_of(b);
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(both));
  return !both.empty();
}

// Whether the leader's fix can make the other finding superfluous: both are at one place, both change the same calls,
// or the other is about the whole step. Two findings of one rule at different lines need two fixes, and an uncertain
// finding (info) hides nothing at other lines.
bool may_answer(const Judged& leader, const Judged& other) {
  if (is_same_place(leader.finding, other.finding)) return true;
  if (leader.finding.rule == other.finding.rule || leader.finding.severity == Severity::kInfo) return false;
  return other.finding.site.empty() || share_calls(leader, other);
}

std::string saving_alone(const Finding& finding) {
  if (!finding.saving_pct) return "";
  return " (" + rounded_percent_text(*finding.saving_pct) + " alone)";
}

std::string at_text(const Finding& finding) {
  return finding.site.empty() ? "" : " at " + finding.site;
}

// Of findings that may answer each other the first leads, and its evidence names those that it leaves nothing of.
// `judged`: ranked.
void choose_leaders(const ProcessModel& model, Scenario& scenario, Pauses base, std::vector<Judged>& judged) {
  for (std::size_t i = 0; i < judged.size(); ++i) {
    Judged& leader = judged[i];
    if (leader.finding.site.empty() || leader.finding.superseded_by) continue;
    std::string settled;
    for (std::size_t j = i + 1; j < judged.size(); ++j) {
      Judged& other = judged[j];
      if (!may_answer(leader, other) || other.finding.superseded_by) continue;
      if (!leaves_nothing_of(model, scenario, base, leader, other)) continue;
      other.finding.superseded_by = leader.finding.rule;
      settled += (settled.empty() ? "" : ", ") + other.finding.title + saving_alone(other.finding) +
                 (is_same_place(other.finding, leader.finding) ? "" : at_text(other.finding));
    }
    if (!settled.empty()) leader.finding.evidence += "; then nothing is left to gain from: " + settled;
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
std::optional<double> saving_of_all(const ProcessModel& model, Scenario& scenario, Pauses base,
                                    const std::vector<Judged>& judged, const std::vector<NamedChange>& changes) {
  if (changes.empty()) return std::nullopt;
  const auto prediction = scenario.predict(model, changes, base);
  if (!prediction) return std::nullopt;
  // Changes that exclude each other can come to less together than the best of them alone.
  double best_pct = prediction->saving_pct();
  for (const Judged& one : judged) best_pct = std::max(best_pct, one.finding.saving_pct.value_or(0));
  return best_pct;
}

}  // namespace

bool is_same_place(const Finding& a, const Finding& b) {
  return a.site == b.site && a.library_site == b.library_site;
}

double expected_pct(const Finding& finding) {
  const double pct = finding.saving_pct.value_or(0);
  if (!finding.saving_step_expected_ns || finding.saving_step_ns.value_or(0) <= 0) return pct;
  return pct * static_cast<double>(*finding.saving_step_expected_ns) / static_cast<double>(*finding.saving_step_ns);
}

bool comes_before(const Finding& a, const Finding& b) {
  const bool is_error_a = a.severity == Severity::kError;
  const bool is_error_b = b.severity == Severity::kError;
  if (is_error_a != is_error_b) return is_error_a;
  return expected_pct(a) > expected_pct(b);
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
  Scenario scenario(model);
  Trust trust(model);
  std::vector<Judged> judged;
  for (auto& [rule, candidate] : candidates) {
    Judged one = to_judge(model, rule->name, std::move(candidate));
    if (!one.changes.empty())
      found.tried.push_back({one.finding.rule, one.finding.site, one.finding.library_site, one.changes});
    if (judge(model, trust, scenario, shown, one)) judged.push_back(std::move(one));
  }
  found.pauses = common_base(judged);
  for (Judged& one : judged) add_saving(model, trust, found.pauses, one);
  std::stable_sort(judged.begin(), judged.end(),
                   [](const Judged& a, const Judged& b) { return comes_before(a.finding, b.finding); });
  found.all_changes = changes_of_all(judged);
  found.saving_pct_all = saving_of_all(model, scenario, found.pauses, judged, found.all_changes);
  choose_leaders(model, scenario, found.pauses, judged);
  for (Judged& one : judged) {
    found.findings.push_back(std::move(one.finding));
    found.changes.push_back(std::move(one.changes));
    found.steps.push_back(std::move(one.step));
  }
  return found;
}

}  // namespace turnpike::analyze
