// Compares a run with its budget.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/budget/budget.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// kUnknown fails a check as well: the run cannot tell what the limit needs.
enum class Outcome { kWithin, kExceeded, kUnknown };
const char* name_of(Outcome outcome);  // ok, exceeded, unknown

enum class ValueKind { kAmount, kBytes, kDuration, kPercent, kText };

struct Culprit {
  Item item;
  double share = 0;  // of the measured value, in its unit
};

struct LimitResult {
  std::string name{};      // as Limit::name, or "verdict.bound_by"
  std::uint32_t line = 0;  // in the budget; 0: it stands there by default
  Outcome outcome = Outcome::kWithin;
  ValueKind kind = ValueKind::kAmount;
  bool is_per_step = false;
  double most = 0;
  std::optional<double> measured{};
  std::string most_text{};          // of kText
  std::string measured_text{};      // of kText
  std::string why{};                // a sentence about an outcome that needs one
  std::vector<Culprit> culprits{};  // of a breach: the largest shares first
};

struct CheckResult {
  std::vector<LimitResult> limits;  // in the order of the file's tables
  std::vector<std::string>
      notes;  // sentences: what is doubtful about the inputs; optional places and rules that are not there
  bool has_steps = false;
  std::size_t exceeded_count = 0;
  std::size_t unknown_count = 0;

  bool is_passed() const { return exceeded_count == 0 && unknown_count == 0; }
};

CheckResult check(const Report& report, const Budget& budget);

}  // namespace turnpike::analyze
