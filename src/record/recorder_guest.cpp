// What another profiler of this process, the guest, asks of CUPTI. While it traces, the device's records are its own.
#include "record/handover/clock.h"
#include "record/observe/observed.h"
#include "record/recorder.h"

namespace turnpike::record {

using cuda::ActivityKind;
using cuda::CuptiResult;
using trace::Loss;

bool Recorder::shares_cupti(decltype(cuda::Cupti::activity_register_callbacks) function) const noexcept {
  return function != nullptr && is_cupti_loaded_.load(std::memory_order_acquire) &&
         function == cupti_.activity_register_callbacks && state_.load(std::memory_order_acquire) != State::kForked;
}

CuptiResult Recorder::subscribe_guest(void** subscriber, cuda::CallbackFunction callback, void* user) {
  return api_.subscribe_guest(cupti_, subscriber, callback, user);
}

// Records that are under way go to their owner before the guest's kinds are on, as far as the device has done the work.
CuptiResult Recorder::begin_guest_activity(cuda::BufferRequested requested, cuda::BufferCompleted completed) {
  const std::lock_guard lock(collecting_mutex_);
  const bool is_new = !guest_.is_tracing();
  if (is_new && takes_activities()) {
    losses_.add(Loss::kOtherCuptiUser);
    switch_kinds(false);
    cupti_.activity_flush_all(0);
  }
  collector_.set_aside(true);
  guest_changed_ns_ = monotonic_ns();
  guest_.begin(requested, completed);
  if (is_new) cupti_.activity_flush_all(cuda::kFlushForced);
  return register_buffers();
}

CuptiResult Recorder::switch_guest_kind(ActivityKind kind, bool is_on) {
  const std::lock_guard lock(collecting_mutex_);
  guest_.note_kind(static_cast<std::uint32_t>(kind), is_on);
  if (is_on) return cupti_.activity_enable(kind);
  guest_changed_ns_ = monotonic_ns();
  const bool is_ours = !guest_.is_tracing() && takes_activities() && is_observed(kind, options_.detail);
  return is_ours ? cuda::kCuptiSuccess : cupti_.activity_disable(kind);
}

// The guest flushes at its end, when its kinds are off.
void Recorder::note_guest_flush() noexcept {
  const std::lock_guard lock(collecting_mutex_);
  if (guest_.is_tracing() && !guest_.has_kinds()) take_over_from_guest();
}

// Under the lock, like the next one.
void Recorder::take_over_from_guest() noexcept {
  guest_.end();
  if (takes_activities()) enable_activities();
  collector_.set_aside(false);
}

// A guest that gave no buffer does not flush at its end. One that has just begun has no kinds yet.
void Recorder::end_guest_without_flush() noexcept {
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  if (!guest_.is_tracing() || guest_.has_kinds() || monotonic_ns() - guest_changed_ns_ < kPatienceNs) return;
  cupti_.activity_flush_all(cuda::kFlushForced);
  take_over_from_guest();
}

void Recorder::look_after_guest() noexcept {
  // Whoever has the lock may be waiting for a buffer that this thread frees.
  const std::unique_lock lock(collecting_mutex_, std::try_to_lock);
  if (lock.owns_lock()) end_guest_without_flush();
}

}  // namespace turnpike::record
