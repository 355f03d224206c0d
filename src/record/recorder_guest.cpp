// What another profiler of this process, the guest, asks of CUPTI. While it traces, the device's records are its own.
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "record/observe/observed.h"
#include "record/recorder.h"

namespace turnpike::record {

using cuda::ActivityKind;
using cuda::CuptiResult;
using trace::Loss;

namespace {

constexpr std::size_t kLongestRecord = 4096;

}  // namespace

bool Recorder::shares_cupti(decltype(cuda::Cupti::activity_register_callbacks) function) const noexcept {
  return function != nullptr && is_cupti_loaded_.load(std::memory_order_acquire) &&
         function == cupti_.activity_register_callbacks && state_.load(std::memory_order_acquire) != State::kForked;
}

// What the device has done so far is the recorder's. CUPTI may keep a buffer that is empty by then.
CuptiResult Recorder::begin_guest_activity(cuda::BufferRequested requested, cuda::BufferCompleted completed) {
  const std::lock_guard lock(collecting_mutex_);
  const CurrentRecording::Use recording = current_.use();
  if (!guest_.is_tracing()) {
    if (takes_activities(recording)) {
      losses_.add(Loss::kOtherCuptiUser);
      switch_kinds(*recording, false);
      cupti_.activity_flush_all(0);
    }
    cupti_.activity_flush_all(cuda::kFlushForced);
  }
  if (recording) recording->collector.set_aside(true);
  guest_changed_ns_ = monotonic_ns();
  guest_.begin(requested, completed);
  return register_buffers();
}

void Recorder::share_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                            std::size_t valid_bytes) noexcept {
  const bool is_guests_time = guest_.is_tracing();
  if (guest_.takes_back(buffer)) {
    if (!is_guests_time) take_copy(buffer, std::exchange(valid_bytes, 0));
    guest_.give(context, stream, buffer, size_bytes, valid_bytes);
    return;
  }
  if (is_guests_time && valid_bytes > 0 && guest_.give_copy(context, stream, buffer, valid_bytes)) {
    std::memset(buffer, 0, std::exchange(valid_bytes, 0));
  }
  take_buffer(buffer, valid_bytes);
}

// In pieces, because the guest's buffers are the larger ones.
void Recorder::take_copy(std::uint8_t* records, std::size_t bytes) noexcept {
  std::uint8_t* piece = records;
  std::uint8_t* const end = records + bytes;
  void* record = nullptr;
  const auto take_piece = [&](const std::uint8_t* piece_end) {
    const auto piece_bytes = static_cast<std::size_t>(piece_end - piece);
    std::size_t room = 0;
    std::uint8_t* copy = pool_.request(&room);
    if (copy == nullptr || room < piece_bytes) {
      losses_.add(Loss::kActivityBuffersFull);
      if (copy != nullptr) take_buffer(copy, 0);
    } else {
      std::memcpy(copy, piece, piece_bytes);
      take_buffer(copy, piece_bytes);
    }
  };
  // A record ends where the next one begins.
  std::uint8_t* last = records;
  while (cupti_.activity_get_next_record(records, bytes, &record) == cuda::kCuptiSuccess) {
    auto* const begin = static_cast<std::uint8_t*>(record);
    if (static_cast<std::size_t>(begin - piece) > kActivityBufferBytes - kLongestRecord && last > piece) {
      take_piece(begin);
      piece = begin;
    }
    last = begin;
  }
  if (piece < end) take_piece(end);
}

CuptiResult Recorder::switch_guest_kind(ActivityKind kind, bool is_on) {
  const std::lock_guard lock(collecting_mutex_);
  guest_.note_kind(static_cast<std::uint32_t>(kind), is_on);
  if (is_on) return cupti_.activity_enable(kind);
  guest_changed_ns_ = monotonic_ns();
  const CurrentRecording::Use recording = current_.use();
  const bool is_ours =
      !guest_.is_tracing() && takes_activities(recording) && is_observed(kind, recording->options.detail);
  return is_ours ? cuda::kCuptiSuccess : cupti_.activity_disable(kind);
}

// The guest flushes at its end, when its kinds are off.
void Recorder::note_guest_flush(std::uint32_t flags) noexcept {
  const std::lock_guard lock(collecting_mutex_);
  const bool is_last = (flags & cuda::kFlushForced) != 0 || !guest_.has_buffers();
  if (guest_.is_tracing() && !guest_.has_kinds() && is_last) take_over_from_guest();
}

// Under the lock, like the next one.
void Recorder::take_over_from_guest() noexcept {
  guest_.end();
  const CurrentRecording::Use recording = current_.use();
  if (!recording) return;
  if (takes_activities(recording)) enable_activities(*recording);
  recording->collector.set_aside(false);
}

// A guest of which CUPTI has no buffer may end without a flush. One that has just begun has no kinds yet.
void Recorder::end_guest_without_flush() noexcept {
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  if (!guest_.is_tracing() || guest_.has_kinds() || guest_.has_buffers()) return;
  if (monotonic_ns() - guest_changed_ns_ >= kPatienceNs) take_over_from_guest();
}

void Recorder::look_after_guest() noexcept {
  // Whoever has the lock may be waiting for a buffer that this thread frees.
  const std::unique_lock lock(collecting_mutex_, std::try_to_lock);
  if (lock.owns_lock()) end_guest_without_flush();
}

}  // namespace turnpike::record
