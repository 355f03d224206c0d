// Keeps the first call of each forward number, by thread.
#include "analyze/model/forward_line.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace turnpike::analyze {

ForwardLines::ForwardLines(const Timeline& timeline) : timeline_(timeline) {
  std::unordered_map<std::uint32_t, std::size_t> run_of_thread;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    if (call.autograd_role != trace::AutogradRole::kForward) continue;
    auto [entry, is_new] = run_of_thread.try_emplace(call.thread, runs_.size());
    if (is_new) runs_.emplace_back();
    if (!runs_[entry->second].empty() && runs_[entry->second].back().sequence > call.autograd_sequence) {
      entry->second = runs_.size();
      runs_.emplace_back();
    }
    Run& run = runs_[entry->second];
    if (run.empty() || run.back().sequence < call.autograd_sequence) run.push_back({call.autograd_sequence, index});
  }
}

std::uint32_t ForwardLines::find(const Call& backward) const {
  // Nodes that no operation made (gradient accumulators) carry the highest number.
  if (backward.autograd_role != trace::AutogradRole::kBackward ||
      backward.autograd_sequence == std::numeric_limits<std::uint64_t>::max()) {
    return kNone;
  }
  std::uint32_t only = kNone;
  for (const Run& run : runs_) {
    const auto first = std::partition_point(
        run.begin(), run.end(), [&](const FirstCall& entry) { return entry.sequence <= backward.autograd_sequence; });
    if (first == run.end() || timeline_.calls[first->call].start_ns >= backward.start_ns) continue;
    if (only != kNone || first->sequence != backward.autograd_sequence + 1) return kNone;
    only = first->call;
  }
  return only;
}

}  // namespace turnpike::analyze
