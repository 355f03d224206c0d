// Which findings of a report are told, and as what: the same on the first screen and in full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report {

// Those that no other one leads, in the order of the report, which must outlive them.
struct ToldFindings {
  std::vector<const analyze::Finding*> large;  // also those whose saving is not known
  std::vector<const analyze::Finding*> small;  // expected to save less than 1 % of a step
};
ToldFindings told_findings(const analyze::Report& report);

// Sentences that explain why nothing is advised: no saving is known, or no finding is about the verdict's cause. Empty
// if a finding is.
std::string unanswered_text(const analyze::Report& report, const ToldFindings& told);

// Says what all findings save together, and names the step that savings are shares of if the verdict names another one.
// Empty if there is nothing to say.
std::string together_text(const analyze::Report& report, const ToldFindings& told);

// The time that savings are per cent of: the mean of the re-timed steps. nullopt: no saving is known.
std::optional<std::int64_t> base_of_savings_ns(const analyze::Report& report);

}  // namespace turnpike::report
