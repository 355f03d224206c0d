// Carries pageable memory through the ring: the schedule, the threads, and the lock between them.
#pragma once

#include <memory>
#include <mutex>

#include "move/job.h"
#include "move/move.h"
#include "move/polling.h"
#include "move/schedule.h"
#include "move/workers.h"

namespace turnpike::move {

// Safe from any thread. Its threads are started with the first job that is worth sharing.
class Stager {
 public:
  Stager(Device& any_device, const Settings& settings);
  ~Stager();  // waits for every job
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // The plan's direct copies have been issued; its chunks are carried from now on. Here and below, the context of the
  // job's device must be current.
  // False: it was planned for larger slots than there are since configure(); plan again.
  bool submit(const std::shared_ptr<Job>& job);
  // The calling thread carries too, until all copies are issued, or until all bytes are where they belong.
  void help_until_issued(Job& job);
  void help_until_over(Job& job);
  // What is not begun stays undone; returns when no thread is busy with the job.
  void cancel(Job& job);

  // Whether a job of this direction is under way on the device.
  bool is_at_work(Direction direction, const Device& device) const;
  bool is_issued(const Job& job) const;
  // What became of a job that is issued or over, as far as it has come: threads may still work on it.
  struct JobOutcome {
    Status status;
    std::shared_ptr<Mark> done;  // nullptr only after a failure
    std::int64_t took_ns = 0;    // 0 until it is over
  };
  JobOutcome outcome(const Job& job) const;
  bool is_over(const Job& job) const;
  // The same, after handing out what has landed where no thread would. Never waits for the device.
  bool hand_out_landed(const std::shared_ptr<Job>& job);

  // A slot for a copy that the caller issues in this stream; waits until there is one, an Error when there can be none.
  Result<Slot*> take_slot(const Device& device, const CUstream_st* stream);
  void give_back(Slot* slot, std::shared_ptr<Mark> mark);

  // Waits for every job, and goes on with other settings.
  void configure(const Settings& settings);
  std::size_t pinned_bytes() const;
  std::size_t release_pinned();

 private:
  class Carrier;  // a thread at work here, and its hold on the lock

  void work();
  // With the lock held. Marks the end of the copies when all are issued, and lets go of a job that is over.
  void conclude(Job& job);

  mutable std::mutex mutex_;
  Settings settings_;
  Device& any_device_;
  Schedule schedule_;
  Workers workers_;
  Polling polling_;
};

}  // namespace turnpike::move
