// Carries pageable memory through the ring: the schedule, the threads, and the lock between them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "move/job.h"
#include "move/move.h"
#include "move/polling.h"
#include "move/schedule.h"
#include "move/workers.h"

namespace turnpike::move {

// How many of so many threads begin with the job at once.
std::size_t threads_to_wake(const Job& job, std::size_t threads);

// Safe from any thread. It starts its threads with the first job that is worth sharing.
class Stager {
 public:
  Stager(Device& any_device, const Settings& settings);
  ~Stager();  // waits for every job
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // Takes over the chunks of the job's plan; the direct copies have been issued. Here and below, the context of the
  // job's device must be current. Returns false if configure() has made the slots smaller than the plan assumes: plan
  // again.
  bool submit(const std::shared_ptr<Job>& job);
  // The calling thread carries too, until all copies are issued, or until all bytes are where they belong.
  void help_until_issued(Job& job);
  void help_until_over(Job& job);
  // Drops what no thread has begun. Returns when no thread works on the job any more.
  void cancel(Job& job);

  // Whether a job of this direction is under way on the device.
  bool is_at_work(Direction direction, const Device& device) const;
  bool is_issued(const Job& job) const;
  // How far a job has come that is issued or over. Threads may still work on it.
  struct JobOutcome {
    Status status;
    std::shared_ptr<Mark> done;  // nullptr only after a failure
    std::int64_t took_ns = 0;    // 0 until it is over
  };
  JobOutcome outcome(const Job& job) const;
  bool is_over(const Job& job) const;
  // The same, after copying out what has landed if no thread would do that. Never waits for the device.
  bool hand_out_landed(const std::shared_ptr<Job>& job);

  // A slot for a copy that the caller issues in this stream. Waits for one; an Error if there can be none.
  Result<Slot*> take_slot(const Device& device, const CUstream_st* stream);
  void give_back(Slot* slot, std::shared_ptr<Mark> mark);

  // Waits for every job, then uses the new settings.
  void configure(const Settings& settings);
  std::size_t pinned_bytes() const;
  std::size_t release_pinned();

 private:
  class Carrier;  // one thread at work, and the lock that it holds

  void work();
  // Requires the lock. Marks the end of the copies once all are issued, and drops a job that is over.
  void conclude(Job& job);

  mutable std::mutex mutex_;
  Settings settings_;
  Device& any_device_;
  Schedule schedule_;
  Workers workers_;
  Polling polling_;
};

}  // namespace turnpike::move
