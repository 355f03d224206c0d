#include "report/text/saving_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace turnpike::report {

std::optional<SavingRange> saving_of(const analyze::Finding& finding) {
  if (!finding.saving_pct) return std::nullopt;
  const std::int64_t saving_ns = finding.saving_step_ns.value_or(0);
  SavingRange saving{.expected_ns = saving_ns,
                     .low_ns = saving_ns,
                     .high_ns = saving_ns,
                     .pct_of_ns = *finding.saving_pct / static_cast<double>(std::max<std::int64_t>(1, saving_ns))};
  if (saving_ns != 0 && finding.saving_step_expected_ns) {
    saving.expected_ns = *finding.saving_step_expected_ns;
    saving.low_ns = finding.saving_step_low_ns.value_or(saving.expected_ns);
    saving.high_ns = finding.saving_step_high_ns.value_or(saving.expected_ns);
  }
  return saving;
}

std::string amount_text(const SavingRange& saving, const std::string& each) {
  std::string text =
      fmt::format("{}{} ({}", duration_text(saving.expected_ns), each, percent_text(saving.expected_pct()));
  if (saving.is_range()) {
    const std::string lowest = saving.low_ns == 0 ? "up" : duration_text(saving.low_ns);
    text += "; " + lowest + " to " + duration_text(saving.high_ns);
  }
  return text + ")";
}

namespace {

const char* each_text(bool has_steps) {
  return has_steps ? " a step" : "";
}

}  // namespace

std::string saving_text(const analyze::Finding& finding, bool has_steps) {
  const auto saving = saving_of(finding);
  if (!saving) return finding.severity == analyze::Severity::kError ? "results may be wrong" : "gain unknown";
  return "saves " + amount_text(*saving, each_text(has_steps));
}

std::string alternative_text(const analyze::Finding& finding, const analyze::Alternative& alternative, bool has_steps) {
  auto saving = saving_of(finding);
  if (!saving || !alternative.saving_step_expected_ns) return alternative.advice;
  saving->expected_ns = *alternative.saving_step_expected_ns;
  saving->low_ns = alternative.saving_step_low_ns.value_or(saving->expected_ns);
  saving->high_ns = alternative.saving_step_high_ns.value_or(saving->expected_ns);
  return alternative.advice + " Saves " + amount_text(*saving, each_text(has_steps)) + ".";
}

}  // namespace turnpike::report
