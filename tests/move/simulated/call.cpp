// Checks what is the same for every call of the simulated driver.
#include "simulated/call.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace turnpike::simulated {
namespace {

constexpr std::size_t kContextBase = 0xC0000000;
constexpr std::size_t kContextStep = 64;

constexpr std::size_t kCallsPerPause = 200;
constexpr std::chrono::microseconds kPause{100};

}  // namespace

Machine* g_machine = nullptr;

CUctx_st* context_of(int device) {
  return reinterpret_cast<CUctx_st*>(kContextBase + kContextStep * static_cast<std::size_t>(device));
}

int device_of(const CUctx_st* context) {
  const auto address = reinterpret_cast<std::size_t>(context);
  if (address < kContextBase) return -1;
  const std::size_t device = (address - kContextBase) / kContextStep;
  return device < static_cast<std::size_t>(g_machine->options.devices) ? static_cast<int>(device) : -1;
}

std::vector<int>& contexts_of_this_thread() {
  thread_local std::uint64_t of_machine = 0;
  thread_local std::vector<int> devices;
  if (of_machine != g_machine->id) devices.clear();
  of_machine = g_machine->id;
  return devices;
}

std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t number = ++threads;
  return number;
}

int& capture_mode_of_this_thread() {
  thread_local std::uint64_t of_machine = 0;
  thread_local int mode = cuda::kCaptureModeGlobal;
  if (of_machine != g_machine->id) mode = cuda::kCaptureModeGlobal;
  of_machine = g_machine->id;
  return mode;
}

Call::Call(const char* name, unsigned needs) : name_(name), lock_(g_machine->lock()) {
  const std::vector<int>& contexts = contexts_of_this_thread();
  device_ = contexts.empty() ? -1 : contexts.back();
  machine().drift();
  if (machine().random.one_in(kCallsPerPause)) pause();
  refusal_ = refuse(needs);
}

// A call may take long while other threads of the host go on.
void Call::pause() {
  lock_.unlock();
  std::this_thread::sleep_for(kPause);
  lock_.lock();
}

cuda::DriverCode Call::refuse(unsigned needs) {
  const std::size_t count = ++machine().calls[name_];
  const auto failure = machine().failures.find(name_);
  if (failure != machine().failures.end() && failure->second.nth == count) {
    const bool is_lost = !cuda::is_capture_code(failure->second.code);
    if ((needs & kWaits) != 0 && is_lost) machine().wait_for_all(lock_);
    return failure->second.code;
  }
  if ((needs & kNeedsContext) != 0 && device_ < 0) {
    machine().report(Rule::kNoContext, std::string(name_) + " was called while no context is current");
    return kInvalidContext;
  }
  if ((needs & kNotWhileCapturing) != 0 && is_held_back()) return refuse_captured(true);
  return 0;
}

// By its own capture in any mode but relaxed, or by another thread's in global mode.
bool Call::is_held_back() const {
  if (machine().capturing_thread == 0) return false;
  const int mode = capture_mode_of_this_thread();
  if (mode == cuda::kCaptureModeRelaxed) return false;
  if (machine().capturing_thread == this_thread()) return machine().capture_mode != cuda::kCaptureModeRelaxed;
  return mode == cuda::kCaptureModeGlobal && machine().capture_mode == cuda::kCaptureModeGlobal;
}

cuda::DriverCode Call::refuse_captured(bool is_captured) {
  if (!is_captured) return 0;
  machine().report(Rule::kWhileCapturing, std::string(name_) + " was called while a stream is captured");
  return kCaptureUnsupported;
}

}  // namespace turnpike::simulated
