// What the advice of a finding is expected to save, in the words and figures of every output.
#pragma once

#include <optional>
#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// What is expected, at least and at most, of one step; of the run where it has no steps.
struct SavingRange {
  std::int64_t expected_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
  double pct_of_ns = 0;  // per cent of the step or the run that a nanosecond is

  bool is_range() const { return low_ns != high_ns; }
  double expected_pct() const { return pct_of_ns * static_cast<double>(expected_ns); }
};

// nullopt where no saving is known.
std::optional<SavingRange> saving_of(const analyze::Finding& finding);
// "7.30 ms a step (42 %)", "2.73 ms a step (16 %; 1.68 ms to 3.78 ms)", "2 ms (9 %; up to 4 ms)". `each`: " a step", or
// what else it is of.
std::string amount_text(const SavingRange& saving, const std::string& each);
// "saves 2.73 ms a step (16 %; 1.68 ms to 3.78 ms)"; else "gain unknown", or "results may be wrong".
std::string saving_text(const analyze::Finding& finding, bool has_steps);
// Another way of the finding, and what it saves if that is known: "Use tp.to(x). Saves 2.73 ms a step (16 %; 1.68 ms
// to 3.78 ms)."
std::string alternative_text(const analyze::Finding& finding, const analyze::Alternative& alternative, bool has_steps);

}  // namespace turnpike::report
