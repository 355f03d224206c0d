// The same data goes up in each step, though the GPU has it already.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/rules/content.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "base/statistics.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kFewRepeats = 3;
// Of several pieces of data smaller than this, some are equal by chance: labels, flags, counters.
constexpr std::uint64_t kRepeatedBytes = 4096;
// Smaller buffers are filled in no time.
constexpr double kTellingBufferBytes = 1 << 20;

// What the host did, usually, between two uploads of one thread besides its calls to CUDA.
std::int64_t usual_pause_ns(const ProcessModel& model, const Selection& uploads) {
  std::vector<std::int64_t> pauses_ns;
  for (std::size_t i = 1; i < uploads.size(); ++i) {
    const std::uint32_t thread = model.call(uploads[i]).thread;
    if (model.call(uploads[i - 1]).thread != thread) continue;
    std::int64_t pause_ns = 0;
    std::int64_t reached_ns = model.call(uploads[i - 1]).end_ns;
    for (std::uint32_t call = uploads[i - 1] + 1; call <= uploads[i]; ++call) {
      if (model.call(call).thread != thread) continue;
      pause_ns += std::max<std::int64_t>(0, model.call(call).start_ns - reached_ns);
      reached_ns = std::max(reached_ns, model.call(call).end_ns);
    }
    pauses_ns.push_back(pause_ns);
  }
  return median(std::move(pauses_ns)).value_or(std::numeric_limits<std::int64_t>::max());
}

// Where no content was recorded: always one buffer, in ordinary memory, which neither the CPU had the time to fill anew
// nor the GPU filled.
bool is_unchanged_buffer(const ProcessModel& model, const Repeats& uploads) {
  if (uploads.distinct != 1 || uploads.is_pinned || uploads.is_filled_by_gpu) return false;
  const auto each = static_cast<double>(uploads.distinct_bytes);
  return each >= kTellingBufferBytes &&
         each > kFillingGbps * static_cast<double>(usual_pause_ns(model, uploads.uploads));
}

bool is_worth_telling(const ProcessModel& model, const Repeats& uploads) {
  if (uploads.repeats.size() < kFewRepeats || 2 * uploads.repeats.size() < uploads.uploads.size()) return false;
  if (!uploads.is_by_content) return is_unchanged_buffer(model, uploads);
  if (uploads.distinct > 1) return uploads.distinct_bytes / uploads.distinct >= kRepeatedBytes;
  return !uploads.is_built_anew;  // else copies_in_step says it, and better
}

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, const Repeats& uploads) {
  const std::string each = bytes_text(static_cast<double>(uploads.bytes) / static_cast<double>(uploads.uploads.size()));
  std::string text = times_a_step(model, uploads.uploads.size()) + ", " + each + " each; ";
  if (!uploads.is_by_content) {
    text += "always from the same buffer (its content was not recorded, but the CPU had only " +
            time_text(static_cast<double>(usual_pause_ns(model, uploads.uploads))) + " in between to change it)";
  } else if (uploads.distinct == 1) {
    text += "always the same data" + doubt_of_sample(uploads.is_sampled);
  } else {
    text += std::to_string(uploads.repeats.size()) + " of " + std::to_string(uploads.uploads.size()) +
            " uploads carried what had gone up before" + doubt_of_sample(uploads.is_sampled) + ", " +
            bytes_text(static_cast<double>(uploads.distinct_bytes)) + " in all";
  }
  const std::int64_t host_ns = count_copies(site, Direction::kHostToDevice).host_ns;
  return host_ns == 0 ? text : text + "; the CPU stood still for " + time_a_step(model, host_ns);
}

bool is_of_function(const trace::Frame& frame, const Place& place) {
  return frame.file == place.file && frame.function == place.function;
}

// Fewer samples than this tell nothing.
constexpr std::size_t kFewSamples = 3;

// Whether the function that makes these uploads does little else in a step, as one that loads a model from a file does:
// who keeps the data on the GPU does not call it. The function of the loop itself is in all samples.
bool are_all_that_is_called_for(const ProcessModel& model, const SiteCalls& site, const Repeats& uploads) {
  const Place& place = site.facts->place;
  if (!place.file || !place.function) return false;
  std::vector<Interval> times = pauses_before(model, uploads.uploads);
  for (const std::uint32_t call : uploads.uploads)
    times.push_back({model.call(call).start_ns, model.call(call).end_ns});
  const IntervalSet of_uploads(std::move(times));
  const Interval& stretch = model.graph().window;
  std::size_t within = 0;      // samples in the function, among the uploads
  std::size_t beside = 0;      // all other samples of the stretch
  std::size_t beside_too = 0;  // those of them that are in the function as well
  for (const trace::SampleRecord& sample : model.timeline().samples) {
    if (sample.thread != model.call(uploads.uploads.front()).thread || sample.time_ns < stretch.start_ns ||
        sample.time_ns >= stretch.end_ns) {
      continue;
    }
    const auto frames = trace::frames_of(model.process(), sample.stack);
    const bool is_in_it = std::any_of(frames.begin(), frames.end(),
                                      [&](const trace::Frame* frame) { return is_of_function(*frame, place); });
    if (of_uploads.covered_ns(sample.time_ns, sample.time_ns + 1) > 0) {
      within += is_in_it ? 1 : 0;
    } else {
      ++beside;
      beside_too += is_in_it ? 1 : 0;
    }
  }
  return within >= kFewSamples && beside >= kFewSamples && 4 * beside_too < beside;
}

std::string advice_for(const Repeats& uploads) {
  if (uploads.distinct > 1) {
    return "Keep it on the GPU: data = data.to(device) once, before the loop, and data[i] in it. If it has no room there, "
           "upload the next one while this one is used: for x in tp.prefetch(data, device).";
  }
  const std::string condition = uploads.is_by_content ? "" : "If nothing changes it: ";
  return condition + (uploads.is_by_content ? "Upload" : "upload") +
         " it once, before the loop: table = table.to(device). Use that copy in the loop.";
}

}  // namespace

void find_repeated_upload(const RuleInput& input, std::vector<Candidate>& found) {
  const UploadHistory history(input.model);
  for (const SiteCalls& site : input.sites) {
    const Repeats uploads = history.repeats_at(site);
    if (!is_worth_telling(input.model, uploads)) continue;
    const Change change =
        are_all_that_is_called_for(input.model, site, uploads) ? Change::kHoistWork : Change::kHoistUpload;
    found.push_back({.where = site.facts->place,
                     .severity = uploads.is_by_content ? Severity::kWarning : Severity::kInfo,
                     .title = uploads.is_by_content ? "uploads the same data again and again"
                                                    : "uploads the same buffer again and again",
                     .evidence = evidence_of(input.model, site, uploads),
                     .advice = advice_for(uploads),
                     .changes = {{change, uploads.repeats}}});
  }
}

}  // namespace turnpike::analyze
