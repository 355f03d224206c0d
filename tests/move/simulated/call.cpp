// Checks what is the same for every call of the simulated driver.
#include "simulated/call.h"

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
    if ((needs & kWaits) != 0) machine().wait_for_all(lock_);
    return failure->second.code;
  }
  if ((needs & kNeedsContext) != 0 && device_ < 0) {
    machine().report(Rule::kNoContext, std::string(name_) + " was called while no context is current");
    return kInvalidContext;
  }
  if ((needs & kNotWhileCapturing) != 0 && machine().capturing_thread == &contexts_of_this_thread()) {
    machine().report(Rule::kWhileCapturing, std::string(name_) + " was called while a stream is captured");
    return kCaptureUnsupported;
  }
  return 0;
}

}  // namespace turnpike::simulated
