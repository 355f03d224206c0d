#include "report/text/saving_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace turnpike::report {

std::optional<SavingRange> saving_of(const analyze::Finding& finding) {
  if (!finding.saving_pct) return std::nullopt;
  const std::int64_t saving_ns = finding.saving_step_ns.value_or(0);
  SavingRange saving{.low_ns = saving_ns,
                     .high_ns = saving_ns,
                     .pct_of_ns = *finding.saving_pct / static_cast<double>(std::max<std::int64_t>(1, saving_ns))};
  if (saving_ns != 0 && finding.saving_step_low_ns && finding.saving_step_high_ns) {
    saving.low_ns = *finding.saving_step_low_ns;
    saving.high_ns = *finding.saving_step_high_ns;
  }
  return saving;
}

std::string saved_text(const SavingRange& saving) {
  if (!saving.is_range()) return duration_text(saving.high_ns);
  if (saving.low_ns == 0) return "up to " + duration_text(saving.high_ns);
  return duration_text(saving.low_ns) + " to " + duration_text(saving.high_ns);
}

namespace {

// "1.68 ms to 3.78 ms a step (10 % to 22 %)".
std::string amount_text(const SavingRange& saving, bool has_steps) {
  const std::string lowest = saving.is_range() && saving.low_ns > 0 ? percent_text(saving.low_pct()) + " to " : "";
  return fmt::format("{}{} ({}{})", saved_text(saving), has_steps ? " a step" : "", lowest,
                     percent_text(saving.high_pct()));
}

}  // namespace

std::string saving_text(const analyze::Finding& finding, bool has_steps) {
  const auto saving = saving_of(finding);
  if (!saving) return finding.severity == analyze::Severity::kError ? "results may be wrong" : "gain unknown";
  return "saves " + amount_text(*saving, has_steps);
}

std::string alternative_text(const analyze::Finding& finding, const analyze::Alternative& alternative, bool has_steps) {
  auto saving = saving_of(finding);
  if (!saving || !alternative.saving_step_low_ns || !alternative.saving_step_high_ns) return alternative.advice;
  saving->low_ns = *alternative.saving_step_low_ns;
  saving->high_ns = *alternative.saving_step_high_ns;
  return alternative.advice + " Saves " + amount_text(*saving, has_steps) + ".";
}

}  // namespace turnpike::report
