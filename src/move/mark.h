// A point in a stream that the engine can ask about, wait for, and make streams wait for.
#pragma once

#include <atomic>
#include <memory>

#include "move/device.h"

namespace turnpike::move {

// Shared by everyone who needs to know; its event goes back to the device with the last of them. Safe from any thread
// whose current context is the device's (for after()) or that of any device.
class Mark {
 public:
  // After everything that is in `stream` now. An Error when the driver refuses; the stream is then as it was.
  static Result<std::shared_ptr<Mark>> after(Device& device, CUstream_st* stream);
  Mark(Device& device, Event event) : device_(device), event_(event) {}
  ~Mark() { device_.give_back(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  // Never waits. A device that failed counts as passed, for nothing will come any more: status() tells. A question that
  // the driver refuses for the sake of a capture does not: it says nothing about the device.
  bool is_passed() const;
  bool was_passed() const { return answer_ != cuda::kNotReady; }  // without asking the device
  cuda::DriverCode answer() const { return answer_; }             // kNotReady: it has not passed
  Status status() const;                                          // what is_passed() or wait() found out
  // An Error also where the driver refuses to wait for the sake of a capture: was_passed() is false then.
  Status wait() const;
  // Waits, however often the driver refuses.
  void wait_until_passed() const;
  // Makes a stream of the current context wait for it.
  Status hold_up(CUstream_st* stream) const;

 private:
  void learn(cuda::DriverCode answer) const;

  Device& device_;
  Event event_;
  // Once it has passed the device is not asked again: each question takes a microsecond, and a lock of the driver.
  mutable std::atomic<cuda::DriverCode> answer_{cuda::kNotReady};
};

}  // namespace turnpike::move
