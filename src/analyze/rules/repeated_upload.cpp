// The same data goes up in each step, though the GPU has it already.
#include "analyze/rules/content.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kFewRepeats = 3;
// Of several pieces of data smaller than this, some are equal by chance: labels, flags, counters.
constexpr std::uint64_t kTellingBytes = 4096;

bool is_worth_telling(const Repeats& uploads) {
  if (uploads.repeats.size() < kFewRepeats || 2 * uploads.repeats.size() < uploads.uploads.size()) return false;
  if (!uploads.is_by_content) return uploads.distinct == 1;
  if (uploads.distinct > 1) return uploads.distinct_bytes / uploads.distinct >= kTellingBytes;
  return !uploads.is_built_anew;  // else copies_in_step says it, and better
}

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, const Repeats& uploads) {
  const std::string each = bytes_text(static_cast<double>(uploads.bytes) / static_cast<double>(uploads.uploads.size()));
  std::string text = times_a_step(model, uploads.uploads.size()) + ", " + each + " each; ";
  if (!uploads.is_by_content) {
    text += "always from the same buffer (whether its content changed was not recorded)";
  } else if (uploads.distinct == 1) {
    text += "always the same data" + doubt_of_sample(uploads.is_sampled);
  } else {
    text += std::to_string(uploads.repeats.size()) + " of " + std::to_string(uploads.uploads.size()) +
            " uploads carried what had gone up before" + doubt_of_sample(uploads.is_sampled) + ", " +
            bytes_text(static_cast<double>(uploads.distinct_bytes)) + " in all";
  }
  return text + "; the CPU stood still for " +
         time_a_step(model, count_copies(model, site, Direction::kHostToDevice).host_ns);
}

std::string advice_for(const Repeats& uploads) {
  if (uploads.distinct > 1) {
    return "Keep it on the GPU: data = data.to(device) once, before the loop, and data[i] in it.";
  }
  const std::string condition = uploads.is_by_content ? "" : "If nothing changes it: ";
  return condition + (uploads.is_by_content ? "Upload" : "upload") +
         " it once, before the loop, and use that copy in it: table = table.to(device).";
}

}  // namespace

void find_repeated_upload(const RuleInput& input, std::vector<Candidate>& found) {
  const UploadHistory history(input.model);
  for (const SiteCalls& site : input.sites) {
    const Repeats uploads = history.repeats_at(site);
    if (!is_worth_telling(uploads)) continue;
    found.push_back({.site = site.facts->place.site,
                     .severity = uploads.is_by_content ? Severity::kWarning : Severity::kInfo,
                     .title = uploads.is_by_content ? "uploads the same data again and again"
                                                    : "uploads the same buffer again and again",
                     .evidence = evidence_of(input.model, site, uploads),
                     .advice = advice_for(uploads),
                     .changes = {{Change::kHoistUpload, uploads.repeats}}});
  }
}

}  // namespace turnpike::analyze
