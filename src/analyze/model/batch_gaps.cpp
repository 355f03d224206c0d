// Walks the calls in order, with the step that they are in.
#include "analyze/model/batch_gaps.h"

#include <algorithm>
#include <optional>

namespace turnpike::analyze {
namespace {

bool is_work(const Call& call) {
  switch (call.kind) {
    case trace::CallKind::kCopy:
    case trace::CallKind::kMemset:
    case trace::CallKind::kSynchronize:
    case trace::CallKind::kLaunch:
    case trace::CallKind::kGraphLaunch:
      return true;
    default:
      return false;
  }
}

// By call: whether it copies from the host to a device.
std::vector<bool> uploads_of(const Timeline& timeline) {
  std::vector<bool> is_upload(timeline.calls.size(), false);
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.call != kNone && transfer.direction == Direction::kHostToDevice) is_upload[transfer.call] = true;
  }
  return is_upload;
}

// Tells the calls that take a batch; asked for each call of the timeline in order.
class Batches {
 public:
  Batches(const Timeline& timeline, Stacks& stacks, std::span<const std::int64_t> step_starts_ns)
      : timeline_(timeline), stacks_(stacks), starts_ns_(step_starts_ns), is_upload_(uploads_of(timeline)) {}

  bool is_taken_by(std::uint32_t index) {
    const Call& call = timeline_.calls[index];
    for (; next_step_ < starts_ns_.size() && call.start_ns >= starts_ns_[next_step_]; ++next_step_) {
      has_batch_ = false;
    }
    const std::optional<Phase> phase = stacks_.facts(stacks_.of_call(call)).place.phase;
    if (phase == Phase::kLoader) return true;
    const bool is_of_step = phase != Phase::kBackward && phase != Phase::kOptimizer;
    if (!is_upload_[index] || !is_of_step || has_batch_) return false;
    has_batch_ = true;
    return true;
  }

 private:
  const Timeline& timeline_;
  Stacks& stacks_;
  std::span<const std::int64_t> starts_ns_;
  std::vector<bool> is_upload_;
  std::size_t next_step_ = 0;
  bool has_batch_ = false;
};

}  // namespace

std::vector<Interval> find_batch_gaps(const Timeline& timeline, Stacks& stacks, const Threads& threads,
                                      std::span<const std::int64_t> step_starts_ns) {
  std::vector<Interval> found;
  if (step_starts_ns.empty()) return found;
  Batches batches(timeline, stacks, step_starts_ns);
  std::vector<Interval> undecided;
  std::optional<std::int64_t> reached_ns;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    if (!call.has_times() || !threads.contains(call.thread)) continue;
    if (reached_ns && call.start_ns - *reached_ns > kQuietNs) undecided.push_back({*reached_ns, call.start_ns});
    reached_ns = std::max(reached_ns.value_or(call.end_ns), call.end_ns);
    const bool takes_batch = batches.is_taken_by(index);
    if (!takes_batch && !is_work(call)) continue;
    if (takes_batch) found.insert(found.end(), undecided.begin(), undecided.end());
    undecided.clear();
  }
  return found;
}

}  // namespace turnpike::analyze
