// Hears of each call of the CUDA API on the calling thread and hands a record of it to the thread's ring.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/fork_mutex.h"
#include "cuda/api_calls.h"
#include "cuda/call_arguments.h"
#include "cuda/cupti.h"
#include "record/observe/content_observer.h"
#include "record/options.h"

namespace turnpike::record {

class LossCounters;
class StackTable;
class StringTable;
class ThreadBuffer;
class ThreadHandover;

class ApiObserver {
 public:
  ApiObserver(StringTable& strings, StackTable& stacks, LossCounters& losses, ThreadHandover& handover);

  // Becomes CUPTI's subscriber, where it is not yet, and asks for the calls that `options` names. False: `error` says
  // why.
  bool subscribe(const cuda::Cupti& cupti, const Options& options, std::string& error);
  // Asks for no calls any more. The subscription stays: CUPTI frees it while other threads may still read it, which has
  // crashed programs that ended a recording amid copies of several threads.
  void end_calls() noexcept;

  // Whether CUPTI has ever accepted the recorder in this process.
  bool has_subscribed() const noexcept { return has_subscribed_.load(std::memory_order_acquire); }

  // Callbacks come on the program's threads while this is on, and return at once while it is off.
  void set_listening(bool is_listening) noexcept {
    if (is_listening) content_.note_host_memory_changed();  // by calls that were not heard
    if (!is_listening) content_.note_unheard_calls();
    is_listening_.store(is_listening, std::memory_order_relaxed);
  }

  using ProfilerRange = void (*)(bool is_start);
  // Called at cudaProfilerStart and cudaProfilerStop, also while not listening. nullptr: those are nothing special.
  void set_profiler_range(ProfilerRange function) noexcept {
    profiler_range_.store(function, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kDomains = 2;       // driver, runtime
  static constexpr std::size_t kCallbacks = 2048;  // CUDA 13 has some 800 in the driver's domain

  static std::size_t index_of(cuda::CallbackDomain domain) noexcept {
    return domain == cuda::CallbackDomain::kDriverApi ? 0 : 1;
  }

  // Aligned to its size: otherwise Clang calls libatomic for it.
  struct alignas(8) Function {
    trace::CallKind kind = trace::CallKind::kOther;
    cuda::ProfilerSwitch profiler_switch = cuda::ProfilerSwitch::kNone;
    bool is_per_thread : 1 = false;  // takes a null stream for the thread's own default stream
    bool may_be_hosts : 1 = false;   // allocates memory of a device, or of the host
    std::uint32_t name = 0;          // string id

    bool is_heard() const noexcept {
      return kind != trace::CallKind::kOther || profiler_switch != cuda::ProfilerSwitch::kNone;
    }
  };
  static void on_callback(void* self, cuda::CallbackDomain domain, std::uint32_t id, const void* data);
  // The same, and its time is counted.
  static void on_timed_callback(void* self, cuda::CallbackDomain domain, std::uint32_t id, const void* data);
  void on_own_callback(cuda::CallbackDomain domain, std::uint32_t id, const void* data) noexcept;
  void on_api(cuda::CallbackDomain domain, std::uint32_t id, const cuda::ApiCallback& call) noexcept;
  void on_exit(ThreadBuffer& buffer, std::uint32_t recording, cuda::CallbackDomain domain, std::uint32_t id,
               const cuda::ApiCallback& call) noexcept;
  void note_host_memory(const Function& function) noexcept;
  void note_done_copy(ThreadBuffer& buffer, const cuda::CallArguments& arguments, const trace::CallRecord& wait,
                      void* stream) noexcept;
  void look_at_content(ThreadBuffer& buffer, const Function& function, const cuda::CallArguments& arguments,
                       const trace::CallRecord& record) noexcept;
  void on_graph_node(std::uint32_t id, const cuda::ResourceCallback& resource) noexcept;
  void watch_managed_memory() noexcept;
  std::uint32_t stream_id_of(ThreadBuffer& buffer, const cuda::ApiCallback& call, void* stream,
                             bool is_per_thread) noexcept;
  std::uint32_t device_of(void* context, std::uint32_t context_id) noexcept;
  // Once: a process has one, and calls that read it may be under way.
  void set_cupti(const cuda::Cupti& cupti) noexcept {
    if (cupti_ != &cupti) cupti_ = &cupti;
  }
  cuda::CuptiResult take_subscriber(std::string& holder);
  std::uint32_t enable_calls(cuda::CallbackDomain domain);

  StringTable& strings_;
  StackTable& stacks_;
  LossCounters& losses_;
  ThreadHandover& handover_;
  ContentObserver content_;
  const cuda::Cupti* cupti_ = nullptr;
  mutable ForkMutex subscriber_mutex_{
      ForkMutex::Held::kForLong};  // of who has the subscriber and what is enabled, not of callbacks
  std::atomic<void*> subscriber_{nullptr};
  std::atomic<bool> has_subscribed_{false};
  Detail detail_ = Detail::kFull;
  // Read while a session begins, too: calls of the one before may be under way, and threads are noted in between.
  std::atomic<bool> has_stacks_{true};
  std::atomic<ProfilerRange> profiler_range_{nullptr};
  std::atomic<bool> is_listening_{false};
  std::atomic<bool> is_managed_memory_watched_{false};
  // Of StreamIds. Streams that were made while nobody listened begin one, too.
  std::atomic<std::uint32_t> stream_age_{0};
  std::atomic<bool> hears_of_streams_{false};
  static_assert(std::atomic<Function>::is_always_lock_free);
  // Written anew for each recording, while a call of the one before may still be in its callback.
  std::array<std::array<std::atomic<Function>, kCallbacks>, kDomains> functions_{};
  // By context id, modulo: device + 1, and the id it is for; 0: not asked yet in this recording. A wrong guess is never
  // used, only asked again. CUPTI gives ids anew when it is attached anew.
  struct ContextDevice {
    std::atomic<std::uint64_t> packed{0};
  };
  std::array<ContextDevice, 64> devices_{};
};

}  // namespace turnpike::record
