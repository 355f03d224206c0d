#include "report/html/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/loss_sentence.h"
#include "report/text/step_words.h"

namespace turnpike::report::html {
namespace {

std::string idle_sentence(const analyze::Report& report) {
  const auto& verdict = report.verdict;
  if (!verdict.gpu_idle_pct) {
    return verdict.gpu_busy_pct ? "Your GPU is busy." : "What the GPU did is not in this recording.";
  }
  const char* const whole = report.steps ? "each step" : "the time";
  const double copies_pct = verdict.exposed_transfer_pct.value_or(0);
  // "Idle <1 %" would contradict what the rest of the page says of such a run.
  if (verdict.bound_by == analyze::Bound::kTransfer && copies_pct > *verdict.gpu_idle_pct) {
    return fmt::format("Your GPU copies without computing for {} of {}.", percent_text(copies_pct), whole);
  }
  return fmt::format("Your GPU is idle {} of {}.", percent_text(verdict.gpu_idle_pct), whole);
}

const analyze::Finding* largest_saving(const analyze::Report& report) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(), [](const analyze::Finding& finding) {
    return !finding.superseded_by && finding.saving_pct.value_or(0) > 0;
  });
  return found == report.findings.end() ? nullptr : &*found;
}

}  // namespace

std::string headline_of(const analyze::Report& report) {
  std::string text = idle_sentence(report);
  const auto* finding = largest_saving(report);
  if (finding == nullptr) return text;
  // What is said of the step as a whole has no line.
  return text + (finding->site.empty() ? " Mostly, " + finding->title + "."
                                       : " The largest saving is one line: " + finding->site);
}

std::string details_of(const analyze::Report& report) {
  std::vector<std::string> parts;
  if (report.source.inputs.is_incomplete()) parts.push_back(incomplete_sentence(report.source.inputs));
  if (report.steps) {
    parts.push_back(fmt::format("{} steps, {} each (median){}", count_text(report.steps->count),
                                duration_text(report.steps->median_ns), host_ahead_text(*report.steps)));
  }
  for (const analyze::Device& device : report.source.devices) {
    if (device.name.empty() || std::find(parts.begin(), parts.end(), device.name) != parts.end()) continue;
    parts.push_back(device.name);
  }
  parts.push_back(duration_text(report.span_ns) + " recorded");
  if (report.source.process_count > 1) parts.push_back(fmt::format("{} processes", report.source.process_count));
  if (report.verdict.bound_by) parts.push_back(fmt::format("{}-bound", analyze::name_of(*report.verdict.bound_by)));
  return joined(parts, " · ");
}

std::vector<std::string> missing_of(const analyze::Report& report) {
  std::vector<std::string> sentences;
  for (const auto& [name, count] : report.losses) {
    const std::string sentence = loss_sentence(name, report.source);
    sentences.push_back(fmt::format("{} ({}): {}", name, count_text(count),
                                    sentence.empty() ? "This version does not know what that means." : sentence));
  }
  const auto& inputs = report.source.inputs;
  for (const auto& more : {inputs.unreadable, inputs.notes, report.source.unusable}) {
    sentences.insert(sentences.end(), more.begin(), more.end());
  }
  return sentences;
}

}  // namespace turnpike::report::html
