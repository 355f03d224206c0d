// Weighs the stacks by the time of their calls, and takes from the lighter ones what only a path needs.
#include "analyze/model/folded_stacks.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "analyze/model/call_path.h"
#include "analyze/model/phase.h"
#include "analyze/model/place.h"

namespace turnpike::analyze {
namespace {

// Recorders number stacks and frames without gaps. What a damaged file numbers far above is not kept by number.
template <typename Map>
std::size_t numbered(const Map& defined) {
  return 2 * defined.size() + 1024;
}

// Of a stack that no copy, wait or allocation came from: none of its paths would be in a report.
constexpr std::int64_t kNoWeight = -1;

void add_weight(std::vector<std::int64_t>& weights, std::uint32_t stack, std::int64_t weight_ns) {
  if (stack < weights.size()) weights[stack] = std::max<std::int64_t>(weights[stack], 0) + weight_ns;
}

bool is_mere_launch(const Call& call) {
  return call.kind == trace::CallKind::kLaunch || call.kind == trace::CallKind::kGraphLaunch;
}

// By stack, in nanoseconds.
std::vector<std::int64_t> weights_of(const trace::Process& process, const Timeline& timeline) {
  std::vector<std::int64_t> weights(numbered(process.stacks), kNoWeight);
  for (const Call& call : timeline.calls) {
    if (!is_mere_launch(call)) add_weight(weights, call.stack, call.has_times() ? call.duration_ns() : 0);
  }
  for (const Transfer& transfer : timeline.transfers) {
    if (!transfer.has_times()) continue;
    const std::uint32_t captured =
        transfer.graph_node == 0 ? trace::kNoId : timeline.captured_stack(transfer.graph_node);
    const std::uint32_t called = transfer.call == kNone ? trace::kNoId : timeline.calls[transfer.call].stack;
    add_weight(weights, captured == trace::kNoId ? called : captured, transfer.duration_ns());
  }
  return weights;
}

}  // namespace

std::size_t FoldedStacks::Hash::operator()(const std::vector<std::uint32_t>& frames) const {
  return std::accumulate(
      frames.begin(), frames.end(), std::size_t{frames.size()},
      [](std::size_t hash, std::uint32_t frame) { return (hash ^ frame) * 0x9E3779B97F4A7C15u ^ (hash >> 29); });
}

FoldedStacks::FoldedStacks(const trace::Process& process, const Timeline& timeline, std::size_t max_full)
    : process_(process), room_for_rests_(max_full), room_for_lines_(max_full) {
  if (process.stacks.size() <= max_full) return;
  const std::vector<std::int64_t> weights = weights_of(process, timeline);
  std::vector<std::int64_t> ranked = weights;
  const auto heaviest_folded = ranked.begin() + static_cast<std::ptrdiff_t>(max_full);
  std::nth_element(ranked.begin(), heaviest_folded, ranked.end(), std::greater());
  const std::int64_t limit = *heaviest_folded;
  // Of those that weigh as much, the first that there is room for.
  auto room = std::count(ranked.begin(), heaviest_folded, limit);
  is_whole_.resize(weights.size());
  for (std::size_t stack = 0; stack < weights.size(); ++stack) {
    if (weights[stack] > limit || (weights[stack] == limit && room-- > 0)) {
      is_whole_[stack] = true;
    } else if (weights[stack] != kNoWeight) {
      ++count_;
    }
  }
  parts_.resize(numbered(process.frames), Part::kUndefined);
  for (const auto& [id, frame] : process.frames) {
    if (id < parts_.size()) parts_[id] = part_in(process, id);
  }
}

FoldedStacks::Part FoldedStacks::part_in(const trace::Process& process, std::uint32_t id) {
  const auto found = process.frames.find(id);
  if (found == process.frames.end()) return Part::kUndefined;
  const trace::Frame& frame = found->second;
  if (frame.kind != trace::FrameKind::kPython) return Part::kNative;
  if (!is_library_file(frame.file) && !is_wrapper(frame)) return Part::kProgram;
  return marks_phase(frame) ? Part::kPhase : Part::kLibrary;
}

// That which a place shows; kNoId: none is of Python.
std::uint32_t FoldedStacks::line_of(std::span<const std::uint32_t> frames) const {
  std::uint32_t innermost = trace::kNoId;
  for (const std::uint32_t frame : frames) {
    const Part part = part_of(frame);
    if (part == Part::kProgram) return frame;
    if (innermost == trace::kNoId && (part == Part::kPhase || part == Part::kLibrary)) innermost = frame;
  }
  return innermost;
}

const std::vector<std::uint32_t>& FoldedStacks::rest_of(std::uint32_t stack) {
  static const std::vector<std::uint32_t> kNothing;
  const auto found = process_.stacks.find(stack);
  if (!found) return kNothing;
  const std::uint32_t line = line_of(found->frames);
  scratch_.clear();
  for (const std::uint32_t frame : found->frames) {
    const Part part = part_of(frame);
    if (frame == line || part == Part::kNative || part == Part::kPhase) scratch_.push_back(frame);
  }
  if (const auto* rest = keep(scratch_, room_for_rests_)) return *rest;
  if (line == trace::kNoId) return kNothing;
  scratch_.assign(1, line);
  const auto* rest = keep(scratch_, room_for_lines_);
  return rest != nullptr ? *rest : kNothing;
}

// nullptr: there is no room for more.
const std::vector<std::uint32_t>* FoldedStacks::keep(const std::vector<std::uint32_t>& frames, std::size_t& room) {
  if (const auto known = rests_.find(frames); known != rests_.end()) return &*known;
  if (room == 0) return nullptr;
  --room;
  return &*rests_.insert(frames).first;
}

}  // namespace turnpike::analyze
