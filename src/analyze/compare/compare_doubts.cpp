// What makes the comparison of two runs doubtful.
#include <algorithm>
#include <set>

#include "analyze/compare/compare.h"
#include "base/text.h"

namespace turnpike::analyze {
namespace {

// From so few steps a single slow one shows in the figures.
constexpr std::uint64_t kFewSteps = 10;

using Doubts = std::vector<std::string>;

std::string or_none(const std::vector<std::string>& parts) {
  return parts.empty() ? "none" : joined(parts, ", ");
}

void add_when_different(Doubts& doubts, const char* what, const std::string& before, const std::string& after) {
  if (before == after || before.empty() || after.empty()) return;
  doubts.push_back(std::string(what) + " differ: " + before + " before, " + after + " after.");
}

std::string devices_of(const Source& source) {
  std::vector<std::string> names;
  for (const Device& device : source.devices) names.push_back(device.name.empty() ? "unknown model" : device.name);
  return or_none(names);
}

// How steps were found, without a line, which may have moved.
std::pair<StepSource, std::string> found_by(const Steps& steps) {
  const bool is_line = steps.source == StepSource::kTransfers;
  return {steps.source, is_line ? steps.marker.substr(0, steps.marker.rfind(':')) : steps.marker};
}

void add_steps(Doubts& doubts, const Report& before, const Report& after) {
  const bool has_before = has_whole_steps(before);
  const bool has_after = has_whole_steps(after);
  if (!has_before || !has_after) {
    const std::string which = !has_before && !has_after ? "Neither run has"
                              : !has_before             ? "The run before has no"
                                                        : "The run after has no";
    doubts.push_back(which +
                     " steps that could be found, so whole runs are compared, start-up included. Mark steps "
                     "with torch.cuda.nvtx.range_push(\"step\") and range_pop(), at least 3, to compare these.");
    return;
  }
  if (found_by(*before.steps) != found_by(*after.steps)) {
    doubts.push_back("Steps were found by " + source_text(*before.steps) + " before and by " +
                     source_text(*after.steps) + " after: a step may not be the same piece of work.");
  }
  const std::uint64_t fewest = std::min(before.steps->whole_count, after.steps->whole_count);
  if (fewest < kFewSteps) {
    doubts.push_back("Only " + std::to_string(fewest) + (fewest == 1 ? " whole step" : " whole steps") +
                     " in one of the runs: one slow step changes the figures.");
  }
}

void add_versions(Doubts& doubts, const Source& before, const Source& after) {
  std::vector<std::string> different;
  for (const auto& [name, version] : before.versions) {
    const auto other = after.versions.find(name);
    if (other != after.versions.end() && other->second != version) {
      different.push_back(name + " " + version + " before and " + other->second + " after");
    }
  }
  if (!different.empty()) doubts.push_back("Versions differ: " + joined(different, ", ") + ".");
}

void add_losses(Doubts& doubts, const Report& report, const char* which) {
  if (report.losses.empty() && report.source.unusable.empty()) return;
  std::vector<std::string> lost;
  for (const auto& [name, count] : report.losses) lost.push_back(std::to_string(count) + " x " + name);
  if (!report.source.unusable.empty()) lost.push_back("processes that could not be recorded");
  doubts.push_back("The run " + std::string(which) + " is incomplete (" + joined(lost, ", ") +
                   "): its figures may be too low. `turnpike report` says what each loss means.");
}

}  // namespace

bool is_without_work(const Report& report) {
  return report.syncs.count == 0 && !report.verdict.gpu_busy_pct &&
         std::all_of(report.totals.begin(), report.totals.end(), [](const Total& total) { return total.count == 0; });
}

Doubts doubts_about(const Report& before, const Report& after) {
  Doubts doubts;
  if (!before.source.paths.empty() && before.source.paths == after.source.paths) {
    doubts.push_back("Both are the same run.");
  }
  if (is_without_work(before) || is_without_work(after)) return doubts;
  add_steps(doubts, before, after);
  add_when_different(doubts, "The kinds of recording", before.source.kind, after.source.kind);
  add_when_different(doubts, "The details of the recordings (--detail)", before.source.detail, after.source.detail);
  add_when_different(doubts, "The devices", devices_of(before.source), devices_of(after.source));
  add_when_different(doubts, "The machines", or_none(before.source.hosts), or_none(after.source.hosts));
  add_when_different(doubts, "The numbers of processes", std::to_string(before.source.process_count),
                     std::to_string(after.source.process_count));
  add_when_different(doubts, "The command lines", before.source.program, after.source.program);
  add_versions(doubts, before.source, after.source);
  add_losses(doubts, before, "before");
  add_losses(doubts, after, "after");
  return doubts;
}

}  // namespace turnpike::analyze
