// Which device work belongs to the calls of a recording that begins or ends while the program is busy: CUPTI's records
// of the device are on a moment before calls are heard, and off a moment after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "record/handover/record_batch.h"

namespace turnpike::record {

// Collector's thread only. Work is written once its call has been taken from a thread's ring. Until then it waits here:
// its call may be under way, or nobody may have heard it.
class WorkOfCalls {
 public:
  // A call was taken. Remembered until so many ids later that its work has been delivered. Without memory for it, work
  // waits in vain.
  void note_call(std::uint32_t correlation) noexcept;
  bool has(std::uint32_t correlation) const noexcept {
    return calls_ != nullptr && calls_[correlation % kCalls] == correlation;
  }
  // Calls begin to be heard, or are heard no more.
  void begin_span() noexcept;
  void end_span() noexcept { is_heard_ = false; }

  template <typename Work>
  void keep(const Work& work) {
    Waiting waiting{work.correlation, 0, {}};
    static_assert(sizeof(Work) <= sizeof waiting.record);
    std::memcpy(waiting.record, &work, sizeof(work));
    fresh_.push_back(waiting);
  }
  // Calls were lost, and counted: from now on all work is of the recording. The reader says which has no call.
  void note_lost_calls() noexcept { are_calls_lost_ = true; }
  // Moves what has its call by now to `batch`. What has waited in vain for two seconds goes there, too: its call is of
  // a kind that is not known, and the reader says so. But not if the call was made about when calls began to be heard,
  // or if none is heard now: then it is not of this recording.
  void release(std::int64_t now_ns, RecordBatch& batch);
  // The same when all calls of the recording have been taken: the rest is not of it.
  void release_last(RecordBatch& batch);

 private:
  struct Waiting {
    std::uint32_t correlation;
    std::int64_t since_ns;
    alignas(8) std::byte record[sizeof(trace::MemcpyRecord)];
  };

  static constexpr std::size_t kCalls = std::size_t{1} << 20;  // 4 MiB; some ten seconds of a busy program
  // More than wait when all is well. The oldest are taken for such that waited in vain.
  static constexpr std::size_t kMostWaiting = 16'384;

  bool is_unheard(std::uint32_t correlation) const noexcept;

  struct Free {
    void operator()(std::uint32_t* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::uint32_t[], Free>
      calls_;  // by id, modulo; 0 is no call's. Pages that nobody wrote take no memory
  bool is_heard_ = false;
  bool are_calls_lost_ = false;
  std::uint32_t first_of_span_ = 0;  // 0: none was taken yet
  std::vector<Waiting> waiting_;     // the oldest first
  std::vector<Waiting> fresh_;       // since the last release
};

}  // namespace turnpike::record
