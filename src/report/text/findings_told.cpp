#include "report/text/findings_told.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/units.h"
#include "report/text/saving_words.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

constexpr double kLargePct = 1;

// The rules that address each verdict. No rule addresses computing, unrecorded work or several causes.
struct Answers {
  analyze::Bound bound;
  std::string_view rules;  // between blanks
};
constexpr std::array kAnswers = {
    Answers{analyze::Bound::kTransfer,
            " blocking_copy checkpoint_blocks_step copies_in_step copy_on_compute_stream late_weights "
            "many_small_copies pageable_async_copy peer_copy_serialised repeated_upload round_trip slow_link slow_load "
            "strided_or_converting_copy wrong_numa_node "},
    Answers{analyze::Bound::kSync,
            " alloc_free_sync blocking_copy implicit_sync needless_explicit_sync pageable_async_copy "
            "repeated_upload round_trip "},
    Answers{analyze::Bound::kLaunch, " launch_bound "},
    Answers{analyze::Bound::kHost,
            " alloc_free_sync checkpoint_blocks_step cpu_work pinning_in_loop slow_load strided_or_converting_copy "},
    Answers{analyze::Bound::kInput, " cpu_work late_loader "},
    Answers{analyze::Bound::kCommunication, " exposed_collectives peer_copy_serialised "}};

bool answers(const analyze::Finding& finding, analyze::Bound bound) {
  return std::any_of(kAnswers.begin(), kAnswers.end(), [&](const Answers& one) {
    return one.bound == bound && one.rules.find(' ' + finding.rule + ' ') != one.rules.npos;
  });
}

bool is_gain_known(const std::vector<const analyze::Finding*>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const analyze::Finding* finding) { return finding->saving_pct.has_value(); });
}

// Whether a finding is about what the verdict names.
bool is_answered(const analyze::Report& report) {
  const auto bound = report.verdict.bound_by.value_or(analyze::Bound::kMixed);
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [=](const analyze::Finding& finding) { return answers(finding, bound); });
}

// By so much that a reader would miss it.
bool differs(std::int64_t base_ns, std::int64_t step_ns) {
  constexpr double kSame = 0.1;
  return std::abs(static_cast<double>(base_ns - step_ns)) > kSame * static_cast<double>(step_ns);
}

std::string computing_text(const analyze::Report& report) {
  return fmt::format("The GPU computes for {} of {}: only faster kernels make that shorter.",
                     percent_text(report.verdict.gpu_busy_pct), report.steps ? "a usual step" : "the time");
}

}  // namespace

ToldFindings told_findings(const analyze::Report& report) {
  ToldFindings told;
  for (const analyze::Finding& finding : report.findings) {
    if (finding.superseded_by) continue;
    const auto saving = saving_of(finding);
    const bool is_small = saving && saving->expected_pct() < kLargePct;
    (is_small ? told.small : told.large).push_back(&finding);
  }
  return told;
}

std::optional<std::int64_t> base_of_savings_ns(const analyze::Report& report) {
  const auto largest = std::max_element(
      report.findings.begin(), report.findings.end(),
      [](const auto& a, const auto& b) { return a.saving_pct.value_or(0) < b.saving_pct.value_or(0); });
  if (largest == report.findings.end() || largest->saving_pct.value_or(0) <= 0) return std::nullopt;
  if (!largest->saving_step_ns) return std::nullopt;
  const double base_ns = 100 * static_cast<double>(*largest->saving_step_ns) / *largest->saving_pct;
  // A damaged recording may claim steps that no time holds.
  if (!(base_ns > 0) || base_ns >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(base_ns);
}

std::string together_text(const analyze::Report& report, const ToldFindings& told) {
  std::string text;
  if (report.saving_pct_all && told.large.size() > 1) {
    text = fmt::format("All of these together: up to {} of {}. One can hide or help another, so they do not add up.",
                       percent_text(report.saving_pct_all), report.steps ? "a step" : "the time");
  }
  const auto base_ns = base_of_savings_ns(report);
  if (base_ns && report.steps && differs(*base_ns, report.steps->typical_ns())) {
    text += fmt::format("{}Savings are of {}, the mean step with its pauses.", text.empty() ? "" : " ",
                        duration_text(*base_ns));
  }
  return text;
}

std::string unanswered_text(const analyze::Report& report, const ToldFindings& told) {
  if (is_gain_known(told.large)) {
    if (report.verdict.bound_by == analyze::Bound::kGpu) return computing_text(report);
    return is_answered(report) ? "" : remark_on(report);
  }
  return fmt::format("Nothing {}was found that is known to gain 1 % of {} or more. {}",
                     told.large.empty() ? "" : "else ", report.steps ? "a step" : "the time", remark_on(report));
}

}  // namespace turnpike::report
