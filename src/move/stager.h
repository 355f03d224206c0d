// The threads that carry pageable memory through the ring, and the order in which they do it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "move/job.h"
#include "move/move.h"

namespace turnpike::move {

// Safe from any thread. Its threads are started with the first job that is worth to be shared.
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
  void help_until_issued(Job& job) { help(job, &Job::is_issued); }
  void help_until_over(Job& job) { help(job, &Job::is_over); }
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
  // One thing for a thread to do, outside of the lock.
  enum class Step { kGather, kIssueDown, kHandOut };
  struct Task {
    std::shared_ptr<Job> job;
    Step step = Step::kGather;
    Job::Loads::iterator load;  // gather and hand out: these bytes of it
    std::size_t begin = 0;
    std::size_t end = 0;
    Slot* slot = nullptr;  // issue: this chunk into this slot
    std::size_t chunk = 0;
  };
  struct Outcome {
    Status status;
    std::shared_ptr<Mark> mark;  // behind what was issued
  };

  static void seal(const Job& job, Outcome& outcome);
  void work();
  void help(Job& job, bool (Job::*is_enough)() const);
  void start_threads();
  void stop_threads(std::unique_lock<std::mutex>& lock);
  void wait_for_jobs(std::unique_lock<std::mutex>& lock);

  // With the lock held. `only`: of this job alone.
  // `may_ask`: one question to the device may be put; false once it has been.
  bool pick(Task& task, const Job* only, bool& may_ask);
  bool pick_from(const std::shared_ptr<Job>& job, Task& task, bool& may_ask);
  bool pick_landing(const std::shared_ptr<Job>& job, Task& task, bool& may_ask);
  bool pick_grain(const std::shared_ptr<Job>& job, Task& task, Step step, Job::Loads& loads);
  Slot* slot_for(const Job& job, bool& may_ask);
  Slot* ask_for_slot(const Taker& taker, bool& may_ask);
  void fail(Job& job, const Status& status);
  void fail_all();
  void abandon(Job& job);
  void conclude(Job& job);
  // These open it meanwhile.
  bool look_out(std::unique_lock<std::mutex>& lock);
  void carry(std::unique_lock<std::mutex>& lock, const Task& task);
  bool hand_out_for_others(std::unique_lock<std::mutex>& lock, bool& may_ask);
  void gather_grain(std::unique_lock<std::mutex>& lock, const Task& task);
  void issue_up(std::unique_lock<std::mutex>& lock, Job& job);
  void issue_down(std::unique_lock<std::mutex>& lock, const Task& task);
  void hand_out_grain(std::unique_lock<std::mutex>& lock, const Task& task);

  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  Settings settings_;
  Device& any_device_;
  std::unique_ptr<Ring> ring_;
  std::list<std::shared_ptr<Job>> jobs_;
  std::vector<std::thread> threads_;
  // What idle threads look at without the lock: it counts what gives one of them something to do. (Not each grain that
  // ends: they would all come for the lock, and find nothing.)
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::int64_t> next_question_ns_{0};
  bool is_stopping_ = false;
  bool has_asked_ = false;  // the devices, for slots, since the jobs were last looked through from the first on
};

}  // namespace turnpike::move
