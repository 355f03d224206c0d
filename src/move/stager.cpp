// Threads take tasks from the schedule with the lock held, and carry them without it.
#include "move/stager.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "move/carry.h"
#include "move/relax.h"
#include "move/steady_ns.h"

namespace turnpike::move {
namespace {

using Clock = std::chrono::steady_clock;

// A smaller transfer is over before a second thread is awake.
constexpr std::size_t kSharedBytes = std::size_t{256} << 10;
// Behind others that the link or the stream has to do, only the call itself can be shorter: one thread fills 1 MiB in
// 0.24 ms, and several fill 2 MiB in the same time.
constexpr std::size_t kSharedBehindBytes = std::size_t{512} << 10;
// Of page-locked memory, where slots are small.
constexpr std::size_t kUsualBytes = std::size_t{32} << 20;
// How long a thread stays awake for what comes next: waking it takes as long.
constexpr std::chrono::microseconds kAwake{50};
// While only devices have something to do, a thread looks again after a pause that grows up to this.
constexpr std::chrono::microseconds kLongestPause{400};

std::unique_ptr<Ring> ring_for(Device& device, const Settings& settings) {
  // One that the threads fill or empty, one that the link works at, one that it has next, and two to spare; more where
  // they are small.
  const std::size_t usual = std::max<std::size_t>(5, kUsualBytes / settings.chunk_bytes);
  return std::make_unique<Ring>(device, settings.chunk_bytes, settings.pinned_bytes / settings.chunk_bytes, usual);
}

}  // namespace

// It takes some fifty microseconds until a thread is awake: all that will have something to do begin at once. The
// others would only look on, on cores that the program may need.
std::size_t threads_to_wake(const Job& job, std::size_t threads) {
  const std::size_t most = std::min(threads, most_gatherers(job));
  return std::max<std::size_t>(1, std::min(job.plan.staged_bytes / kSharedBytes, most));
}

// Holds the lock for its whole life, except while it carries, looks out or sleeps. Owns its turns to ask the devices.
class Stager::Carrier {
 public:
  explicit Carrier(Stager& stager) : stager_(stager), lock_(stager.mutex_, std::defer_lock) { acquire(); }

  void work();
  void help(Job& job, bool (Job::*is_enough)() const);
  bool hand_out_landed(const std::shared_ptr<Job>& job);
  Result<Slot*> take_slot(const Taker& taker);
  void cancel(Job& job);
  void finish_all_jobs();
  void end_workers();
  // Returns when there is no job, no thread and no slot in use.
  void settle();

 private:
  void acquire();
  std::optional<Schedule::Task> next(const Job* only);
  // The slots that the caller's job needs may hold what has landed for others, and there may be no other thread.
  bool hand_out_for_others(Polling::Turn& turn);
  // These release the lock meanwhile.
  void carry(Schedule::Task task);
  void look_out();

  Stager& stager_;
  std::unique_lock<std::mutex> lock_;
  Polling::Turn turn_;
};

// The lock is held for a microsecond at most, and to sleep for it takes fifty: first it is tried for a while.
void Stager::Carrier::acquire() {
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    if (lock_.try_lock()) return;
    relax();
  }
  lock_.lock();
}

std::optional<Schedule::Task> Stager::Carrier::next(const Job* only) {
  auto task = stager_.schedule_.next(turn_, only);
  if (!task && stager_.schedule_.ring().failure()) {
    for (const auto& job : stager_.schedule_.fail_unbegun()) stager_.conclude(*job);
  }
  return task;
}

void Stager::Carrier::carry(Schedule::Task task) {
  for (bool is_through = false; !is_through;) {
    lock_.unlock();
    Schedule::Outcome outcome = move::carry(task);
    acquire();
    auto more = stager_.schedule_.finished(task, std::move(outcome));
    is_through = !more;
    if (more) task = *more;
  }
  stager_.conclude(*task.job);
}

bool Stager::Carrier::hand_out_for_others(Polling::Turn& turn) {
  auto task = stager_.schedule_.next_landing(turn);
  if (!task) return false;
  carry(*task);
  return true;
}

// Waits until something has changed or this thread may ask the device again.
void Stager::Carrier::look_out() {
  const auto& changes = stager_.schedule_.changes();
  const std::uint64_t seen = changes;
  lock_.unlock();
  turn_ = stager_.polling_.look_out(changes, seen);
  acquire();
}

void Stager::Carrier::help(Job& job, bool (Job::*is_enough)() const) {
  job.is_ahead = false;
  bool has_waited = false;
  while (!(job.*is_enough)()) {
    Polling::Turn for_others = turn_;  // the job's own question leaves none
    if (auto task = next(&job)) {
      // The device has come so far: the threads may be asleep for a while yet.
      if (std::exchange(has_waited, false)) stager_.workers_.wake(1);
      carry(*task);
    } else {
      has_waited = true;
      if (!hand_out_for_others(for_others)) look_out();
    }
  }
}

void Stager::Carrier::work() {
  const Device* current = &stager_.any_device_;
  auto idle_since = Clock::now();
  std::chrono::microseconds pause = kAwake;
  while (!stager_.workers_.are_dismissed()) {
    if (auto task = next(nullptr)) {
      if (current != &task->job->device) {
        current = &task->job->device;
        current->driver().ctx_set_current(current->context());
      }
      carry(*task);
      idle_since = Clock::now();
      pause = kAwake;
    } else if (Clock::now() - idle_since < kAwake) {
      look_out();
    } else if (stager_.schedule_.is_empty()) {
      stager_.workers_.sleep_until(lock_, [this] { return !stager_.schedule_.is_empty(); });
      idle_since = Clock::now();
    } else {
      stager_.workers_.sleep_for(lock_, pause);
      turn_ = Polling::Turn();
      pause = std::min(pause * 2, kLongestPause);
    }
  }
}

bool Stager::Carrier::hand_out_landed(const std::shared_ptr<Job>& job) {
  while (!job->is_shared) {
    turn_ = Polling::Turn();
    auto task = stager_.schedule_.next_landing(*job, turn_);
    if (!task) break;
    carry(*task);
  }
  return job->is_over();
}

Result<Slot*> Stager::Carrier::take_slot(const Taker& taker) {
  while (true) {
    Ring& ring = stager_.schedule_.ring();  // another one after configure()
    ring.forget_failure();
    ring.collect();
    if (Slot* slot = ring.take(taker); slot != nullptr) return slot;
    if (ring.failure()) return *ring.failure();
    if (!hand_out_for_others(turn_)) look_out();
  }
}

void Stager::Carrier::cancel(Job& job) {
  if (!job.is_over()) stager_.schedule_.abandon(job);
  stager_.conclude(job);
  while (!job.is_over()) look_out();
}

// Helps, too: there may be no threads.
void Stager::Carrier::finish_all_jobs() {
  while (!stager_.schedule_.is_empty()) {
    const std::shared_ptr<Job> job = stager_.schedule_.first();
    lock_.unlock();
    {
      const InContext in_context(job->device);
      stager_.help_until_over(*job);
    }
    acquire();
  }
}

void Stager::Carrier::end_workers() {
  auto threads = stager_.workers_.dismiss();
  lock_.unlock();
  stager_.workers_.join(std::move(threads));
  acquire();
  stager_.workers_.allow();
}

void Stager::Carrier::settle() {
  // Others may submit whenever the lock is open.
  while (!stager_.schedule_.is_empty() || stager_.workers_.count() > 0 || stager_.schedule_.ring().taken() > 0) {
    finish_all_jobs();
    end_workers();
    look_out();
  }
}

Stager::Stager(Device& any_device, const Settings& settings)
    : settings_(settings), any_device_(any_device), schedule_(ring_for(any_device, settings)) {}

// What could throw is the reading of a Result that holds an error, and nothing here does that.
// NOLINTNEXTLINE(bugprone-exception-escape)
Stager::~Stager() {
  Carrier carrier(*this);
  carrier.finish_all_jobs();
  carrier.end_workers();
}

void Stager::work() {
  any_device_.driver().ctx_set_current(any_device_.context());
  const Relaxed relaxed(any_device_.driver());
  Carrier(*this).work();
}

bool Stager::submit(const std::shared_ptr<Job>& job) {
  std::size_t woken = 0;
  {
    const std::lock_guard lock(mutex_);
    Ring& ring = schedule_.ring();
    if (job->plan.chunk_bytes > ring.slot_bytes()) return false;
    job->started_ns = steady_ns();
    job->store = settings_.store;
    job->most_gatherers = settings_.gatherers;
    const std::size_t shared_bytes = job->plan.cut == Cut::kBehindOthers ? kSharedBehindBytes : kSharedBytes;
    const bool is_small = job->plan.staged_bytes < shared_bytes;
    job->is_shared = !job->plan.chunks.empty() && (job->is_ahead || !is_small);
    if (job->is_shared) workers_.start(settings_.threads, [this] { work(); });
    ring.prepare(job->plan.chunks.size());
    schedule_.add(job);
    conclude(*job);
    if (job->is_shared) woken = threads_to_wake(*job, workers_.count());
  }
  workers_.wake(woken);
  return true;
}

void Stager::conclude(Job& job) {
  if (job.has_issued() && job.done == nullptr) {
    const InContext in_context(job.device);
    auto mark = Mark::after(job.device, job.stream);
    if (mark) {
      job.done = std::move(*mark);
    } else {
      job.device.driver().stream_synchronize(job.stream);
      if (job.status) job.status = mark.error();
    }
  }
  if (!job.is_over() || job.finished_ns != 0) return;
  job.finished_ns = steady_ns();
  schedule_.remove(job);
}

void Stager::help_until_issued(Job& job) {
  Carrier(*this).help(job, &Job::is_issued);
}

void Stager::help_until_over(Job& job) {
  Carrier(*this).help(job, &Job::is_over);
}

bool Stager::hand_out_landed(const std::shared_ptr<Job>& job) {
  return Carrier(*this).hand_out_landed(job);
}

void Stager::cancel(Job& job) {
  Carrier(*this).cancel(job);
}

bool Stager::is_at_work(Direction direction, const Device& device) const {
  const std::lock_guard lock(mutex_);
  return schedule_.is_at_work(direction, device);
}

bool Stager::is_issued(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return job.is_issued();
}

Stager::JobOutcome Stager::outcome(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return {job.status, job.done, job.finished_ns == 0 ? 0 : job.finished_ns - job.started_ns};
}

bool Stager::is_over(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return job.is_over();
}

Result<Slot*> Stager::take_slot(const Device& device, const CUstream_st* stream) {
  return Carrier(*this).take_slot({&device, stream, false});
}

void Stager::give_back(Slot* slot, std::shared_ptr<Mark> mark) {
  const std::lock_guard lock(mutex_);
  schedule_.ring().give_back(slot, std::move(mark));
}

void Stager::configure(const Settings& settings) {
  Carrier carrier(*this);
  carrier.settle();
  settings_ = settings;
  schedule_.set_ring(nullptr);  // first: the page-locked memory of both would be more than either allows
  schedule_.set_ring(ring_for(any_device_, settings));
}

std::size_t Stager::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return schedule_.ring().pinned_bytes();
}

std::size_t Stager::release_pinned() {
  const std::lock_guard lock(mutex_);
  return schedule_.ring().release();
}

}  // namespace turnpike::move
