// Work that waits for its call.
#include "record/collect/work_of_calls.h"

#include <algorithm>

namespace turnpike::record {
namespace {

constexpr std::int64_t kPatienceNs = 2'000'000'000;
// In calls: those that were under way when the first one was heard. A thread may have been put aside meanwhile.
constexpr std::int32_t kNear = 1 << 16;

}  // namespace

void WorkOfCalls::note_call(std::uint32_t correlation) noexcept {
  if (calls_ == nullptr) calls_.reset(static_cast<std::uint32_t*>(std::calloc(kCalls, sizeof(std::uint32_t))));
  if (calls_ != nullptr) calls_[correlation % kCalls] = correlation;
  if (first_of_span_ == 0) first_of_span_ = correlation;
}

void WorkOfCalls::begin_span() noexcept {
  is_heard_ = true;
  first_of_span_ = 0;
}

// On a busy machine, the device's records can be on for any time before calls are heard: all work of before then is
// unheard. Ids have 32 bits, and those of a recording of weeks come round again: the nearer half of them is before.
bool WorkOfCalls::is_unheard(std::uint32_t correlation) const noexcept {
  const bool is_before_or_near = static_cast<std::int32_t>(correlation - first_of_span_) < kNear;
  return !are_calls_lost_ && (!is_heard_ || first_of_span_ == 0 || is_before_or_near);
}

void WorkOfCalls::release(std::int64_t now_ns, RecordBatch& batch) {
  for (Waiting& work : fresh_) work.since_ns = now_ns;
  waiting_.insert(waiting_.end(), fresh_.begin(), fresh_.end());
  fresh_.clear();
  std::size_t excess = waiting_.size() - std::min(waiting_.size(), kMostWaiting);
  std::erase_if(waiting_, [&](const Waiting& work) {
    const bool is_excess = excess > 0 && excess-- > 0;
    const bool has_waited = is_excess || now_ns - work.since_ns >= kPatienceNs;
    const bool has_call = has(work.correlation);
    if (has_call || (has_waited && !is_unheard(work.correlation))) batch.add_raw(work.record);
    return has_call || has_waited;
  });
}

void WorkOfCalls::release_last(RecordBatch& batch) {
  release(0, batch);
  for (const Waiting& work : waiting_) {
    if (are_calls_lost_) batch.add_raw(work.record);
  }
  waiting_.clear();
}

}  // namespace turnpike::record
