// What to do next for the transfers in flight: gather a grain, issue a copy, or copy a grain out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "move/job.h"
#include "move/polling.h"
#include "move/ring.h"

namespace turnpike::move {

// Only decides; carry() does the work. It calls the driver only through its ring and with the question of a Turn. The
// stager's lock guards it and its jobs, except changes().
class Schedule {
 public:
  enum class Step { kGather, kIssueUp, kIssueDown, kHandOut };
  // One thing for a thread to do without the lock. Its job stays in the schedule until finished() is called.
  struct Task {
    Job* job = nullptr;
    Step step = Step::kGather;
    Slot* slot = nullptr;  // of this chunk; kIssueUp: those of the job's batch
    std::size_t chunk = 0;
    std::size_t begin = 0;  // a grain: these bytes of the chunk
    std::size_t end = 0;
    Job::Loads::iterator load{};  // that the grain is of; for finished()
  };
  struct Outcome {
    Status status;
    std::shared_ptr<Mark> mark;  // behind what was issued
  };

  explicit Schedule(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
  Ring& ring() const { return *ring_; }
  // Only while there is no job.
  void set_ring(std::unique_ptr<Ring> ring) { ring_ = std::move(ring); }

  // Behind the jobs that somebody waits for, before the background ones.
  void add(const std::shared_ptr<Job>& job);
  void remove(const Job& job);
  bool is_empty() const { return jobs_.empty(); }
  const std::shared_ptr<Job>& first() const { return jobs_.front(); }
  bool is_at_work(Direction direction, const Device& device) const;

  // The next task, of any job or of `only` this one. None until something changes, or until a device has come further
  // than when it was last asked.
  std::optional<Task> next(Polling::Turn& turn, const Job* only = nullptr);
  // The next task that copies bytes out of slots, of any job or of this one.
  std::optional<Task> next_landing(Polling::Turn& turn);
  std::optional<Task> next_landing(Job& job, Polling::Turn& turn);
  // Takes back a task that is done. If it returns another one, the same thread must do that at once.
  std::optional<Task> finished(const Task& task, Outcome&& outcome);

  // Keeps the first failure and drops what no thread has begun. Threads finish what they have taken.
  void fail(Job& job, const Status& status);
  void abandon(Job& job);
  // For a system that gives no slot at all: fails all jobs that no thread has begun, and returns them.
  std::vector<std::shared_ptr<Job>> fail_unbegun();

  // Counts the changes that give an idle thread something to do. The end of a grain does not count: all threads would
  // compete for the lock and find nothing.
  const std::atomic<std::uint64_t>& changes() const { return changes_; }

 private:
  std::optional<Task> next_of(Job& job, Polling::Turn& turn);
  std::optional<Task> next_grain(Job& job, Step step, Job::Loads& loads);
  std::optional<Task> next_batch(Job& job);
  Slot* slot_for(const Job& job, Polling::Turn& turn);
  Slot* ask_for_slot(const Taker& taker, Polling::Turn& turn);
  std::optional<Task> gathered(const Task& task);
  std::optional<Task> issued_up(const Task& task, const Outcome& outcome);
  void issued_down(const Task& task, Outcome&& outcome);
  void handed_out(const Task& task, const Status& status);

  std::unique_ptr<Ring> ring_;
  std::list<std::shared_ptr<Job>> jobs_;
  std::atomic<std::uint64_t> changes_{0};
  bool has_asked_ = false;  // the devices, for slots, since the jobs were last looked through from the first on
};

// How many threads may gather for the job at once.
std::size_t most_gatherers(const Job& job);

}  // namespace turnpike::move
