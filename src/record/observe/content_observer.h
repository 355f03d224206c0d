// Notes what stood in the host memory of copies, so that the same data crossing twice can be seen.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/call_arguments.h"
#include "record/handover/host_memory.h"
#include "record/options.h"
#include "trace/format.h"

namespace turnpike::record {

class ThreadBuffer;
class ThreadHandover;

// Unknown content is no record and no loss. It is unknown for copies
// - of less than 64 bytes, of rows with gaps, batched, captured in a graph, or of a direction that the call leaves
// open;
// - from or to managed memory, which could move if the recorder read it, and memory that the driver gives no answer
// for;
// - down into page-locked memory, when no synchronisation of its stream or context follows on the same thread, or the
//   thread uses the memory in another copy before.
class ContentObserver {
 public:
  explicit ContentObserver(ThreadHandover& handover) : handover_(handover) {}

  // At the start of a recording. Looks up the driver's function, which enters the loader. Throws std::bad_alloc.
  void configure(const Options& options);

  // On the calling thread, at the exit of a call that succeeded and was not captured. `stream`: as the call was given
  // it, the thread's own default stream told from the legacy one.
  void on_copy(ThreadBuffer& buffer, const cuda::CallArguments& arguments, const trace::CallRecord& call,
               void* stream) noexcept;
  void on_synchronize(ThreadBuffer& buffer, const cuda::CallArguments& arguments, const trace::CallRecord& call,
                      void* stream) noexcept;
  bool has_managed_memory() const noexcept { return has_managed_memory_.load(std::memory_order_relaxed); }
  bool may_have_managed_memory() const noexcept { return may_have_managed_memory_.load(std::memory_order_relaxed); }
  void note_managed_memory() noexcept {
    has_managed_memory_.store(true, std::memory_order_relaxed);
    note_unheard_calls();
  }
  // A call that was not heard may have allocated managed memory: the driver is asked about each address from now on.
  void note_unheard_calls() noexcept { may_have_managed_memory_.store(true, std::memory_order_relaxed); }
  // At the exit of a call that makes host memory page-locked or managed, or takes it back.
  void note_host_memory_changed() noexcept { memory_age_.fetch_add(1, std::memory_order_release); }
  // Host memory may become page-locked by calls that are not heard (cuMemMap): nothing that the driver says is kept.
  void note_unheard_host_memory() noexcept { may_remember_.store(false, std::memory_order_relaxed); }

 private:
  HostMemory memory_at(ThreadBuffer& buffer, std::uint64_t address) noexcept;
  void note(ThreadBuffer& buffer, std::uint32_t correlation, std::uint64_t address, std::uint64_t bytes,
            trace::ContentSide side) noexcept;

  using PointerAttribute = int (*)(void* value, int attribute, unsigned long long pointer);

  ThreadHandover& handover_;
  std::atomic<bool> is_verifying_{false};
  std::atomic<bool> has_managed_memory_{false};
  std::atomic<bool> may_have_managed_memory_{true};
  std::atomic<PointerAttribute> pointer_attribute_{nullptr};
  // Of HostMemoryMemo.
  std::atomic<std::uint32_t> memory_age_{0};
  std::atomic<bool> may_remember_{true};
};

}  // namespace turnpike::record
