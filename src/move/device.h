// What the engine holds of each GPU: its primary context, streams of its own beside the program's, and events to reuse.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/driver.h"

namespace turnpike::move {

using Event = CUevent_st*;

// Turns a code of the driver into a sentence: `what` failed, on which device.
Status check(const cuda::Driver& driver, cuda::DriverCode code, const char* what, int ordinal);

// Safe from any thread.
class Device {
 public:
  // Opens the device that the driver counts as `ordinal`. An Error when there is none.
  static Result<std::unique_ptr<Device>> open(const cuda::Driver& driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  int handle() const { return handle_; }  // CUdevice
  CUctx_st* context() const { return context_; }
  const cuda::Driver& driver() const { return driver_; }

  // Streams that wait for no other, in turn. Several, because a copy that waits for the program must not hold up the
  // one behind it; made once, because what is allocated for a stream is bound to it.
  enum class Lane { kUp, kDown, kPeer };
  CUstream_st* next_stream(Lane lane);

  // An event without timing, to be given back. The context must be current.
  Result<Event> take_event();
  void give_back(Event event);

 private:
  static constexpr std::size_t kStreams = 4;
  static constexpr std::size_t kLanes = 3;

  Device(const cuda::Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  Status start();

  const cuda::Driver& driver_;
  int ordinal_;
  int handle_ = 0;
  CUctx_st* context_ = nullptr;
  std::array<std::array<CUstream_st*, kStreams>, kLanes> streams_{};
  std::array<std::atomic<unsigned int>, kLanes> turn_{};
  std::mutex mutex_;
  std::vector<Event> events_;
};

// While a thread captures a CUDA graph in the usual mode, the driver refuses other threads' questions and waits, and
// the capture is lost for it. What the engine asks is about its own events, streams and memory, which are no part of
// any graph: as long as this lives the driver lets this thread ask.
class Relaxed {
 public:
  explicit Relaxed(const cuda::Driver& driver) : driver_(driver) {
    is_exchanged_ = driver_.thread_exchange_stream_capture_mode(&mode_) == 0;
  }
  ~Relaxed() {
    if (is_exchanged_) driver_.thread_exchange_stream_capture_mode(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  const cuda::Driver& driver_;
  int mode_ = cuda::kCaptureModeRelaxed;
  bool is_exchanged_;
};

// Makes a device's context current for the calling thread, in relaxed mode, and puts back at the end what was before.
class InContext {
 public:
  explicit InContext(const Device& device) : driver_(device.driver()), relaxed_(driver_) {
    is_pushed_ = driver_.ctx_push_current(device.context()) == 0;
  }
  ~InContext() {
    CUctx_st* popped = nullptr;
    if (is_pushed_) driver_.ctx_pop_current(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const cuda::Driver& driver_;
  const Relaxed relaxed_;
  bool is_pushed_;
};

// Whether the stream, one of the device, is being captured into a CUDA graph: whatever is put there would become a part
// of the graph. The device's context is current, here and below.
Result<bool> is_capturing(const Device& device, CUstream_st* stream);
// An Error when it is.
Status check_capture(const Device& device, CUstream_st* stream);

}  // namespace turnpike::move
