// Which of the program's threads are looked at now and then, and how often.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/stacks/python_sampler.h"

namespace turnpike::record {

class RecordBatch;

// The collector's thread only.
class ThreadSampler {
 public:
  explicit ThreadSampler(StackTable& stacks) : python_(stacks) {}

  // A thread that calls CUDA. Its `handle`, pthread_self(), may have been another's that has ended.
  void note_thread(std::uint32_t thread, std::uintptr_t handle);
  void note_call(std::uint32_t thread, std::int64_t end_ns);

  // Looks at the threads that called CUDA in the last second and at the main thread, if it ever did; adds a record for
  // each that is in Python.
  void sample(RecordBatch& batch);
  // 5 ms, and more where a look takes more than a hundredth of that.
  std::int64_t pitch_ns() const noexcept { return pitch_ns_; }

 private:
  static constexpr std::int64_t kPitchNs = 5'000'000;

  struct Thread {
    std::uintptr_t handle;
    std::int64_t last_call_ns;
  };

  PythonSampler python_;
  std::unordered_map<std::uint32_t, Thread> threads_;  // by the system's id
  std::vector<std::uint32_t> looked_at_;
  std::vector<PythonSampler::Thread> looks_;
  std::int64_t mean_cost_ns_ = 0;
  std::int64_t pitch_ns_ = kPitchNs;
};

}  // namespace turnpike::record
