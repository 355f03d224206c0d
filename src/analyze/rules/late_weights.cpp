// Weights or optimizer states that live in host memory, and go up only when their layer needs them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {
namespace {

// Fewer pieces a step may be the buffers of a loader, which come again and again, too.
constexpr std::size_t kFewPieces = 4;
// Of a piece: what is smaller belongs to many_small_copies.
constexpr double kTellingBytes = 1 << 20;
constexpr double kNearlyAll = 0.9;
// More pieces on their way than these gain little, and each takes memory of the GPU.
constexpr std::uint32_t kMostAhead = 4;
// The least number ahead is advised that gains so much of what the best one gains.
constexpr double kNearlyAllOfTheGain = 0.95;

using Buffer = std::pair<std::uint64_t, std::uint64_t>;  // address and bytes of host memory

struct Pieces {
  std::size_t a_step = 0;   // different ones, in the step with most
  std::uint64_t bytes = 0;  // of those
};

// The buffers that a place sends up in each step, if they are the same ones from step to step and in the same order.
std::optional<Pieces> pieces_of(const ProcessModel& model, const Selection& uploads) {
  std::map<std::uint32_t, std::vector<Buffer>> by_step;
  for (const std::uint32_t call : uploads) {
    if (model.call(call).src == 0 || model.call(call).bytes == trace::kUnknownSize) return std::nullopt;
    by_step[model.step_of(call)].emplace_back(model.call(call).src, model.call(call).bytes);
  }
  Pieces pieces;
  std::size_t compared = 0;
  std::size_t same = 0;
  const std::vector<Buffer>* before = nullptr;
  for (const auto& [step, buffers] : by_step) {
    for (std::size_t i = 0; before != nullptr && i < buffers.size(); ++i) {
      ++compared;
      same += i < before->size() && (*before)[i] == buffers[i];
    }
    before = &buffers;
    const std::set<Buffer> distinct(buffers.begin(), buffers.end());
    if (distinct.size() <= pieces.a_step) continue;
    pieces = {.a_step = distinct.size(), .bytes = 0};
    for (const auto& [address, bytes] : distinct) pieces.bytes += bytes;
  }
  const bool is_same_each_time =
      compared > 0 && static_cast<double>(same) >= kNearlyAll * static_cast<double>(compared);
  return is_same_each_time ? std::optional(pieces) : std::nullopt;
}

// Whether kernels are launched between most of the uploads: each is for what comes next, and not one of a batch.
bool are_used_in_turn(const ProcessModel& model, const Selection& uploads) {
  std::size_t used = 0;
  for (std::size_t i = 1; i < uploads.size(); ++i) {
    for (std::uint32_t call = uploads[i - 1] + 1; call < uploads[i]; ++call) {
      if (model.call(call).kind != trace::CallKind::kLaunch) continue;
      ++used;
      break;
    }
  }
  return static_cast<double>(used) >= kNearlyAll * static_cast<double>(uploads.size() - 1);
}

struct Distance {
  std::uint32_t ahead;
  double step_ns;
};

// What a step takes with one piece on its way while another is used, with two, and so on; empty where it is not known.
std::vector<Distance> distances(const ProcessModel& model, const Selection& uploads, std::size_t pieces) {
  std::vector<Distance> known;
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(kMostAhead, pieces - 1));
  for (std::uint32_t ahead = 1; ahead <= most; ++ahead) {
    const NamedChange change{Change::kPrefetchNext, uploads, ahead};
    if (const auto step = predict(model, {&change, 1})) known.push_back({ahead, step->predicted_ns});
  }
  return known;
}

std::uint32_t enough_ahead(const ProcessModel& model, const std::vector<Distance>& known) {
  double best_ns = model.measured_step_ns();
  for (const Distance& one : known) best_ns = std::min(best_ns, one.step_ns);
  for (const Distance& one : known) {
    const double gained_ns = model.measured_step_ns() - one.step_ns;
    if (gained_ns >= kNearlyAllOfTheGain * (model.measured_step_ns() - best_ns)) return one.ahead;
  }
  return 1;
}

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, const Pieces& pieces,
                        const std::vector<Distance>& known, std::uint32_t enough) {
  const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
  std::string text = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each, from the same " +
                     std::to_string(pieces.a_step) + " buffers (" + bytes_text(static_cast<double>(pieces.bytes)) +
                     ") in each step, with kernels between them";
  if (known.empty()) return text;
  text += "; re-timed with one on its way while one is used, a step takes " + time_text(known.front().step_ns);
  if (enough == 1) return text + ", and hardly less with more";
  for (std::size_t i = 1; i < known.size() && known[i].ahead <= enough; ++i) {
    text += ", with " + std::to_string(known[i].ahead) + " " + time_text(known[i].step_ns);
  }
  return text;
}

// tp.prefetch takes pageable memory, too, but then copies each piece on the host first: less than what is predicted.
std::string advice_for(bool is_pageable, std::uint32_t ahead) {
  const std::string loop = "for weight in tp.prefetch(weights, device, depth=" + std::to_string(ahead) + ")";
  const std::string start =
      is_pageable ? "Pin, and upload the next piece ahead: " : "Upload the next piece while this one is used: ";
  return start + loop + (is_pageable ? ". Pin the pieces once: weights = [w.pin_memory() for w in weights]" : "") +
         ". By hand: copy the next with non_blocking=True on a side stream, and let the computing wait for its event. A "
         "library that offloads has an option for it.";
}

}  // namespace

void find_late_weights(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  if (!model.steps()) return;
  for (const SiteCalls& site : input.sites) {
    Selection uploads = copies_of(site, Direction::kHostToDevice);
    if (uploads.size() < kFewPieces || !is_regular(model, uploads)) continue;
    const auto pieces = pieces_of(model, uploads);
    if (!pieces || pieces->a_step < kFewPieces) continue;
    if (static_cast<double>(pieces->bytes) < kTellingBytes * static_cast<double>(pieces->a_step)) continue;
    if (!are_used_in_turn(model, uploads)) continue;
    const std::vector<Distance> known = distances(model, uploads, pieces->a_step);
    const std::uint32_t ahead = enough_ahead(model, known);
    const bool is_pageable = count_copies(site, Direction::kHostToDevice).pageable_count > 0;
    found.push_back({.where = site.facts->place,
                     .title = "uploads each piece only when it is needed",
                     .evidence = evidence_of(model, site, *pieces, known, ahead),
                     .advice = advice_for(is_pageable, ahead),
                     .changes = {{Change::kPrefetchNext, std::move(uploads), ahead}}});
  }
}

}  // namespace turnpike::analyze
