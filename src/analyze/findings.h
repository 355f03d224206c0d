// What should be done otherwise, ranked by what that would gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/report.h"
#include "analyze/whatif/retimed_step.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// What a rule would change at a place, whether or not it gains enough there to be a finding.
struct TriedChanges {
  std::string rule;
  std::string site;
  std::optional<std::string> library_site;
  std::vector<NamedChange> changes;
};

struct FoundFindings {
  std::vector<Finding> findings;         // most saving first
  std::optional<double> saving_pct_all;  // of the step, with all of them done together
  Pauses pauses = Pauses::kLeftOut;      // whether the steps that all savings are of include pauses
  // What each finding comes to, in the same order; empty where none of its gain is claimed.
  std::vector<std::vector<NamedChange>> changes{};
  std::vector<NamedChange> all_changes{};  // of all findings whose saving is known, together
  std::vector<TriedChanges> tried{};
  // The shown step with the changes of each finding, where asked for; nullopt: none, or they cannot be predicted.
  std::vector<std::optional<RetimedStep>> steps{};
};

// Whether two findings are about the same lines.
bool is_same_place(const Finding& a, const Finding& b);
// Per cent of a step that the advice is expected to save; 0 where that is not known.
double expected_pct(const Finding& finding);
// The order of findings: errors first, then most expected saving.
bool comes_before(const Finding& a, const Finding& b);

// Asks every rule, re-times each candidate, and drops those that would gain too little to matter.
// `keeps_steps`: for who shows them.
FoundFindings find_findings(const ProcessModel& model, bool keeps_steps = false);

}  // namespace turnpike::analyze
