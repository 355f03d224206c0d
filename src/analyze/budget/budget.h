// What a run may cost: the limits of `turnpike check`, as a budget file gives them (docs/check.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/figures.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// What is limited.
enum class Measure {
  kCount,     // transfers
  kBytes,     // transferred
  kSyncs,     // synchronisations
  kPageable,  // transfers from or to pageable memory of the host
  kBlocked,   // time in which the host was held, ns
  kExposed,   // time of copies with no kernel beside them, ns
  kDuration,  // of a step (median) or of the run, ns
};

// At most `most` of something in a unit. Everything at allowed places is left out, but for kDuration.
struct Limit {
  std::string name{};  // as a person finds it in the file: "per_step.h2d_count", "limit 2 (model.py:*): count"
  std::uint32_t line = 0;
  Unit unit = Unit::kStep;
  Measure measure = Measure::kCount;
  std::optional<Direction> direction{};  // nullopt: every direction, memset excepted
  std::string site{};                    // a pattern (site_pattern.h); empty: everywhere
  double most = 0;
  bool is_optional = false;  // nothing needs to be at the site
};

// A place that nothing limits.
struct Allowance {
  std::string site{};
  std::optional<Direction> direction{};
  std::string reason{};
  std::uint32_t line = 0;
  bool is_optional = false;
};

// A limit on percentages and words of the report, and the line that gives it.
template <typename T>
struct Setting {
  T value;
  std::uint32_t line = 0;
};

struct Budget {
  std::string path;
  std::vector<Limit> limits;
  std::vector<Allowance> allowances;
  std::optional<Setting<std::vector<Bound>>> bound_by;  // the verdicts that are fine
  std::optional<Setting<double>> max_exposed_transfer_pct;
  std::optional<Setting<double>> max_gpu_idle_pct;
  std::optional<Setting<std::vector<std::string>>> forbidden_findings;  // patterns of rules
  bool are_findings_optional = false;                                   // a pattern needs to fit no rule
  std::optional<Setting<double>> max_saving_pct;
  // By name; a run that lost anything else fails, since what exceeds a limit may be among what was lost.
  std::vector<std::string> allowed_losses;
  bool are_losses_allowed = false;  // all of them
  std::uint32_t losses_line = 0;    // 0: the file says nothing of losses
  std::string guard_rules;          // of `turnpike guard`: a line "KEY=VALUE" for each key of [guard]
};

}  // namespace turnpike::analyze
