// What every call of the simulated driver goes through: the lock, the count, the injected failure, the current context.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/driver.h"
#include "simulated/machine.h"

namespace turnpike::simulated {

inline constexpr cuda::DriverCode kInvalidValue = 1;
inline constexpr cuda::DriverCode kOutOfMemory = 2;
inline constexpr cuda::DriverCode kInvalidContext = 201;
inline constexpr cuda::DriverCode kInvalidHandle = 400;
inline constexpr cuda::DriverCode kLaunchFailed = 719;
inline constexpr cuda::DriverCode kCaptureUnsupported = 900;

// The machine that the driver's functions are about; nullptr: there is none.
extern Machine* g_machine;

CUctx_st* context_of(int device);
// The device of a context; -1: it is none of ours.
int device_of(const CUctx_st* context);
// The contexts that are current to this thread, the last one counts. Those of an earlier machine are forgotten.
std::vector<int>& contexts_of_this_thread();

// A number that no other thread of this process has, nor had.
std::uint64_t this_thread();
// What this thread may call while a stream is captured; each machine begins with kCaptureModeGlobal.
int& capture_mode_of_this_thread();

// What a function asks for; bits.
enum Needs : unsigned {
  kNothing = 0,
  kNeedsContext = 1,
  kNotWhileCapturing = 2,  // refused while a thread captures, but for threads in relaxed mode
  kWaits = 4  // when it fails for another reason than a capture, the device is lost: nothing of it runs any more
};

class Call {
 public:
  Call(const char* name, unsigned needs);

  // Why the call is over before it has begun; 0: it is not.
  cuda::DriverCode refusal() const { return refusal_; }
  // Of the current context; -1: there is none.
  int device() const { return device_; }
  Machine& machine() const { return *g_machine; }
  std::unique_lock<std::mutex>& lock() { return lock_; }
  const char* name() const { return name_; }
  // A wait for, or a question about, what is being captured, or all of a device of which a stream is: no mode allows
  // it, and the capture is lost.
  cuda::DriverCode refuse_captured(bool is_captured);

 private:
  void pause();
  bool is_held_back() const;
  cuda::DriverCode refuse(unsigned needs);

  const char* name_;
  std::unique_lock<std::mutex> lock_;
  int device_ = -1;
  cuda::DriverCode refusal_ = 0;
};

// Each puts the functions of its subject into the table.
void fill_device_calls(cuda::Driver& driver);
void fill_memory_calls(cuda::Driver& driver);
void fill_copy_calls(cuda::Driver& driver);
void fill_stream_calls(cuda::Driver& driver);
void fill_event_calls(cuda::Driver& driver);

}  // namespace turnpike::simulated
