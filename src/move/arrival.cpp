// Words are compared with the pattern; where that says nothing for long, their stream is asked.
#include "move/arrival.h"

#include <thread>
#include <utility>

#include "move/relax.h"

namespace turnpike::move {
namespace {

using std::chrono::steady_clock;

// A word that still holds the pattern may have got the pattern, or its device may have failed. Only the driver knows,
// and each question takes a microsecond or more.
constexpr std::chrono::milliseconds kBetweenQuestions{1};
// A stream that never falls idle does not tell either. After so many questions an event is recorded, which will.
constexpr int kMostBusyAnswers = 8;
// How a thread waits for a word: awake for so long, and then in naps.
constexpr std::chrono::microseconds kAwake{100};
constexpr std::chrono::microseconds kNap{20};

}  // namespace

Result<std::unique_ptr<Arrival>> Arrival::behind(Device& device, CUstream_st* stream) {
  auto mark = Mark::after(device, stream);
  if (!mark) return mark.error();
  return std::make_unique<Arrival>(device, std::move(*mark));
}

Arrival::Arrival(Device& device, CUstream_st* stream, std::uint64_t* word)
    : device_(device), stream_(stream), word_(word), next_question_(steady_clock::now() + kBetweenQuestions) {
  std::atomic_ref(*word).store(kNothingYet, std::memory_order_release);
}

bool Arrival::is_passed() {
  if (was_passed()) return true;
  if (word_ == nullptr) {
    const InContext in_context(device_);
    return mark_->is_passed();
  }
  const std::lock_guard lock(mutex_);
  if (was_passed()) return true;
  if (device_.driver().read_word(word_) != kNothingYet) {
    answer_ = 0;
  } else if (steady_clock::now() >= next_question_) {
    ask_stream();
    next_question_ = steady_clock::now() + kBetweenQuestions;
  }
  return was_passed();
}

void Arrival::ask_stream() {
  const InContext in_context(device_);
  if (mark_ != nullptr) {
    if (mark_->is_passed()) answer_ = mark_->answer();
    return;
  }
  // A stream that is being captured must not be asked: the capture would be lost. One whose device has failed must be.
  const Result<bool> is_captured = is_capturing(device_, stream_);
  if (is_captured && *is_captured) return;
  const cuda::DriverCode code = device_.driver().stream_query(stream_);
  if (cuda::is_capture_code(code)) return;
  if (code != cuda::kNotReady) {
    answer_ = code;
    return;
  }
  if (++busy_answers_ < kMostBusyAnswers) return;
  if (const auto mark = Mark::after(device_, stream_)) mark_ = *mark;
}

Status Arrival::status() const {
  if (word_ == nullptr) return mark_->status();
  const cuda::DriverCode answer = answer_;
  return check(device_.driver(), answer == cuda::kNotReady ? 0 : answer, "a copy", device_.ordinal());
}

Status Arrival::wait() {
  if (word_ == nullptr) {
    const InContext in_context(device_);
    return mark_->wait();
  }
  wait_until_passed();
  return status();
}

void Arrival::wait_until_passed() {
  if (word_ == nullptr) {
    const InContext in_context(device_);
    mark_->wait_until_passed();
    return;
  }
  const auto end = steady_clock::now() + kAwake;
  while (!is_passed()) {
    if (steady_clock::now() < end) {
      relax();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

Result<std::shared_ptr<Mark>> Arrival::mark() {
  if (word_ == nullptr) return mark_;
  const std::lock_guard lock(mutex_);
  if (mark_ != nullptr) return mark_;
  const InContext in_context(device_);
  if (const Status status = check_capture(device_, stream_); !status) return status.error();
  const auto mark = Mark::after(device_, stream_);
  if (mark) mark_ = *mark;
  return mark;
}

}  // namespace turnpike::move
