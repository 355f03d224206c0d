// Whether copies into page-locked memory have arrived, and when: an event behind them tells, or the memory itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "move/mark.h"

namespace turnpike::move {

// Safe from any thread, in any context or none.
class Arrival {
 public:
  // What a word holds until its copy has written it: a pattern that no value is likely to have. Read as a double,
  // and its lower half as a float, it is a signalling NaN with a drawn payload; arithmetic gives quiet ones.
  static constexpr std::uint64_t kNothingYet = 0x7FF4'A9D3'7FA5'C3E9;

  // Of the copies that are in `stream` now. An Error when the driver refuses. The device's context is current.
  static Result<std::unique_ptr<Arrival>> behind(Device& device, CUstream_st* stream);
  // Of one copy of 4 or 8 bytes, which is to be put into `stream` next, to the beginning of `word`, which is aligned as
  // a word. A device writes so few aligned bytes in one piece, so the copy has run when they are others than before,
  // and no event is needed. The stream must live as long as this does, the word until is_passed().
  Arrival(Device& device, CUstream_st* stream, std::uint64_t* word);
  explicit Arrival(Device& device, std::shared_ptr<Mark> mark) : device_(device), mark_(std::move(mark)) {}
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  // All like those of Mark.
  bool is_passed();
  bool was_passed() const { return word_ != nullptr ? answer_ != cuda::kNotReady : mark_->was_passed(); }
  Status status() const;
  Status wait();
  void wait_until_passed();
  // For streams to wait for: behind the copies, and maybe behind more. An Error where none can be had, as while the
  // stream is being captured.
  Result<std::shared_ptr<Mark>> mark();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void ask_stream();

  Device& device_;
  std::shared_ptr<Mark> mark_;  // of a word: nullptr until one is needed
  CUstream_st* stream_ = nullptr;
  std::uint64_t* word_ = nullptr;                          // nullptr: the mark tells
  std::atomic<cuda::DriverCode> answer_{cuda::kNotReady};  // of a word: once it is known the word is not read again

  std::mutex mutex_;  // guards what follows, the mark of a word, and that the word is there
  Time next_question_;
  int busy_answers_ = 0;
};

}  // namespace turnpike::move
