// A thread takes the next chunk for which there is a slot; chunks of transfers that somebody waits for go first.
#include "move/stager.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "cuda/nvtx_label.h"
#include "move/cores.h"
#include "move/host_copy.h"
#include "move/relax.h"

namespace turnpike::move {
namespace {

using Clock = std::chrono::steady_clock;

// A smaller transfer is over before a second thread is awake.
constexpr std::size_t kSharedBytes = std::size_t{256} << 10;
// Of page-locked memory, where slots are small.
constexpr std::size_t kUsualBytes = std::size_t{32} << 20;
// How long a thread stays awake for what comes next: waking it takes as long.
constexpr std::chrono::microseconds kAwake{50};
// While only devices have something to do, a thread looks again after a pause that grows up to this.
constexpr std::chrono::microseconds kLongestPause{400};
// A question to the device takes a microsecond, with our lock held: one in a while is enough for all threads.
constexpr std::int64_t kBetweenQuestionsNs = 4000;
// How long an idle thread looks for a change before it lets another thread have its core.
constexpr std::int64_t kLookNs = 20000;

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

std::unique_ptr<Ring> ring_for(Device& device, const Settings& settings) {
  // One that the threads fill or empty, one that the link works at, one that it has next, and two to spare; more where
  // they are small.
  const std::size_t usual = std::max<std::size_t>(5, kUsualBytes / settings.chunk_bytes);
  return std::make_unique<Ring>(device, settings.chunk_bytes, settings.pinned_bytes / settings.chunk_bytes, usual);
}

// A dozen write faster than a link of PCIe 5 reads; more only keep cores from the program. Every thread is used for
// downloads, whose fresh pages have to be cleared first, and where items are gathered one by one.
std::size_t most_gatherers(const Job& job) {
  return job.direction == Direction::kDown || job.plan.is_strided ? SIZE_MAX : job.most_gatherers;
}

// The lock is held for a microsecond at most, and to sleep for it takes fifty: first it is tried for a while.
void acquire(std::unique_lock<std::mutex>& lock) {
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    if (lock.try_lock()) return;
    relax();
  }
  lock.lock();
}

}  // namespace

Stager::Stager(Device& any_device, const Settings& settings)
    : settings_(settings), any_device_(any_device), ring_(ring_for(any_device, settings)) {}

Stager::~Stager() {
  std::unique_lock lock(mutex_);
  wait_for_jobs(lock);
  stop_threads(lock);
}

void Stager::start_threads() {
  try {
    while (threads_.size() < settings_.threads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system allows no more threads: those that run, and who waits for a transfer, carry it.
  }
}

void Stager::stop_threads(std::unique_lock<std::mutex>& lock) {
  is_stopping_ = true;
  std::vector<std::thread> threads = std::move(threads_);
  threads_.clear();
  lock.unlock();
  submitted_.notify_all();
  for (std::thread& thread : threads) thread.join();
  acquire(lock);
  is_stopping_ = false;
}

// Helps, too: there may be no threads.
void Stager::wait_for_jobs(std::unique_lock<std::mutex>& lock) {
  while (!jobs_.empty()) {
    const std::shared_ptr<Job> job = jobs_.front();
    lock.unlock();
    {
      const InContext in_context(job->device);
      help_until_over(*job);
    }
    acquire(lock);
  }
}

bool Stager::submit(const std::shared_ptr<Job>& job) {
  std::size_t woken = 0;
  {
    const std::lock_guard lock(mutex_);
    if (job->plan.chunk_bytes > ring_->slot_bytes()) return false;
    job->started_ns = steady_ns();
    job->store = settings_.store;
    job->most_gatherers = settings_.gatherers;
    // A single slot behind others that the link or the stream has to do is filled before threads are awake.
    const bool is_small =
        job->plan.staged_bytes < kSharedBytes || (job->plan.cut == Cut::kBehindOthers && job->plan.chunks.size() == 1);
    job->is_shared = !job->plan.chunks.empty() && (job->is_ahead || !is_small);
    if (job->is_shared) start_threads();
    ring_->prepare(job->plan.chunks.size());
    // Before those that nobody waits for, behind those that somebody does.
    auto place = jobs_.begin();
    while (place != jobs_.end() && (job->is_ahead || !(*place)->is_ahead)) ++place;
    jobs_.insert(place, job);
    conclude(*job);
    ++changes_;
    // It takes some fifty microseconds until a thread is awake: all that will have something to do begin at once. The
    // others would only look on, on cores that the program may need.
    if (job->is_shared) {
      const std::size_t most = std::min(threads_.size(), most_gatherers(*job));
      woken = std::max<std::size_t>(1, std::min(job->plan.staged_bytes / kSharedBytes, most));
    }
  }
  for (std::size_t i = 0; i < woken; ++i) submitted_.notify_one();
  return true;
}

void Stager::help(Job& job, bool (Job::*is_enough)() const) {
  std::unique_lock lock(mutex_, std::defer_lock);
  acquire(lock);
  job.is_ahead = false;
  bool has_waited = false;
  bool may_ask = true;
  while (!(job.*is_enough)()) {
    Task task;
    bool may_ask_for_others = may_ask;  // the job's own question leaves none
    if (!pick(task, &job, may_ask)) {
      has_waited = true;
      if (!hand_out_for_others(lock, may_ask_for_others)) may_ask = look_out(lock);
      continue;
    }
    // The device has come so far: the threads may be asleep for a while yet.
    if (std::exchange(has_waited, false)) submitted_.notify_one();
    carry(lock, task);
  }
}

void Stager::work() {
  use_cores_of_process();
  const Device* current = &any_device_;
  any_device_.driver().ctx_set_current(current->context());
  const Relaxed relaxed(any_device_.driver());
  auto idle_since = Clock::now();
  std::chrono::microseconds pause = kAwake;
  bool may_ask = true;
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    Task task;
    if (pick(task, nullptr, may_ask)) {
      if (current != &task.job->device) {
        current = &task.job->device;
        current->driver().ctx_set_current(current->context());
      }
      carry(lock, task);
      idle_since = Clock::now();
      pause = kAwake;
    } else if (Clock::now() - idle_since < kAwake) {
      may_ask = look_out(lock);
    } else if (jobs_.empty()) {
      submitted_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
      idle_since = Clock::now();
    } else {
      if (submitted_.wait_for(lock, pause) == std::cv_status::no_timeout) submitted_.notify_one();
      may_ask = true;
      pause = std::min(pause * 2, kLongestPause);
    }
  }
}

// Opens the lock until something has changed, or the device may be asked again and it is up to this thread: true.
bool Stager::look_out(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = changes_;
  lock.unlock();
  bool may_ask = false;
  const std::int64_t start = steady_ns();
  while (changes_ == seen && !may_ask) {
    relax();
    const std::int64_t now = steady_ns();
    std::int64_t next = next_question_ns_;
    may_ask = now >= next && next_question_ns_.compare_exchange_strong(next, now + kBetweenQuestionsNs);
    if (now - start > kLookNs) {
      std::this_thread::yield();
      break;
    }
  }
  acquire(lock);
  return may_ask;
}

bool Stager::pick(Task& task, const Job* only, bool& may_ask) {
  ring_->forget_failure();  // of an earlier transfer
  has_asked_ = false;
  for (const auto& job : jobs_) {
    if ((only == nullptr || job.get() == only) && pick_from(job, task, may_ask)) return true;
  }
  if (ring_->failure()) fail_all();
  return false;
}

// There is not a single slot, and the system gives none: nobody would ever carry what is not begun.
void Stager::fail_all() {
  const std::list<std::shared_ptr<Job>> jobs = jobs_;
  for (const auto& job : jobs) {
    if (job->is_begun()) continue;
    fail(*job, *ring_->failure());
    conclude(*job);
  }
}

// A slot for the next chunk. An upload rather asks for one that is done than to have another page-locked. A download's
// slots come free by handing out, so it asks the device only when there is nothing to hand out.
Slot* Stager::slot_for(const Job& job, bool& may_ask) {
  const bool is_up = job.direction == Direction::kUp;
  if (job.is_begun() || (!is_up && job.is_issuing)) return nullptr;
  const Taker taker{&job.device, job.stream, job.is_ahead};
  if (is_up && !ring_->has_free()) return ask_for_slot(taker, may_ask);
  Slot* slot = ring_->take(taker);
  return slot != nullptr || !job.landings.empty() ? slot : ask_for_slot(taker, may_ask);
}

// One question does for all jobs: that the first gets no slot says nothing about those of other streams.
Slot* Stager::ask_for_slot(const Taker& taker, bool& may_ask) {
  if (std::exchange(may_ask, false)) {
    ring_->collect();
    has_asked_ = true;
  }
  if (!has_asked_) return nullptr;
  Slot* slot = ring_->take(taker);
  if (ring_->has_free()) ++changes_;
  return slot;
}

bool Stager::pick_from(const std::shared_ptr<Job>& job, Task& task, bool& may_ask) {
  if (job->gatherers == most_gatherers(*job)) return false;
  if (!job->gathering.empty() && pick_grain(job, task, Step::kGather, job->gathering)) return true;
  if (Slot* slot = slot_for(*job, may_ask)) {
    const std::size_t chunk = job->next++;
    if (job->direction == Direction::kUp) {
      job->gathering.push_back({slot, chunk, job->plan.chunks[chunk].size_bytes});
      ++changes_;  // there is something for others, too
      return pick_grain(job, task, Step::kGather, job->gathering);
    }
    job->is_issuing = true;
    task = {job, Step::kIssueDown, {}, 0, 0, slot, chunk};
    return true;
  }
  return pick_landing(job, task, may_ask);
}

// The next grain of the last load.
bool Stager::pick_grain(const std::shared_ptr<Job>& job, Task& task, Step step, Job::Loads& loads) {
  const auto load = std::prev(loads.end());
  if (load->is_taken()) return false;
  const std::size_t begin = load->next;
  load->next = std::min(grain_end(job->plan, job->plan.chunks[load->chunk], begin), load->size_bytes);
  task = {job, step, load, begin, load->next};
  job->gatherers += step == Step::kGather ? 1 : 0;
  return true;
}

bool Stager::pick_landing(const std::shared_ptr<Job>& job, Task& task, bool& may_ask) {
  if (!job->handing.empty() && pick_grain(job, task, Step::kHandOut, job->handing)) return true;
  if (job->landings.empty()) return false;
  const Mark& mark = *job->landings.front().slot->busy_until;
  if (!mark.was_passed() && (!std::exchange(may_ask, false) || !mark.is_passed())) return false;
  job->handing.splice(job->handing.end(), job->landings, job->landings.begin());
  ++changes_;
  return pick_grain(job, task, Step::kHandOut, job->handing);
}

// The slots that the caller's job needs may hold what has landed for others, and there may be no other thread.
bool Stager::hand_out_for_others(std::unique_lock<std::mutex>& lock, bool& may_ask) {
  Task task;
  const auto picks = [&](const std::shared_ptr<Job>& job) { return pick_landing(job, task, may_ask); };
  if (std::none_of(jobs_.begin(), jobs_.end(), picks)) return false;
  carry(lock, task);
  return true;
}

void Stager::carry(std::unique_lock<std::mutex>& lock, const Task& task) {
  switch (task.step) {
    case Step::kGather:
      gather_grain(lock, task);
      break;
    case Step::kIssueDown:
      issue_down(lock, task);
      break;
    case Step::kHandOut:
      hand_out_grain(lock, task);
      break;
  }
  conclude(*task.job);
}

void Stager::gather_grain(std::unique_lock<std::mutex>& lock, const Task& task) {
  Job& job = *task.job;
  Job::Load& load = *task.load;
  lock.unlock();
  gather(job.plan, job.plan.chunks[load.chunk], task.begin, task.end, job.store, load.slot->memory);
  acquire(lock);
  --job.gatherers;
  load.finished += task.end - task.begin;
  if (!load.is_finished()) return;
  ++changes_;
  if (job.is_cancelled) {
    ring_->give_back(load.slot, nullptr);
  } else {
    job.staged.push_back(load);
  }
  job.gathering.erase(task.load);
  if (!job.is_issuing) issue_up(lock, job);
}

// Issues what this and other threads have staged, until there is no more. One mark does for what is issued together.
void Stager::issue_up(std::unique_lock<std::mutex>& lock, Job& job) {
  const cuda::Driver& driver = job.device.driver();
  job.is_issuing = true;
  while (!job.staged.empty()) {
    const std::vector<Job::Load> batch = std::exchange(job.staged, {});
    lock.unlock();
    Outcome outcome;
    for (const Job::Load& load : batch) {
      const cuda::NvtxLabel named(job.label);
      const Chunk& chunk = job.plan.chunks[load.chunk];
      outcome.status =
          check(driver, driver.memcpy_htod_async(chunk.device, load.slot->memory, chunk.size_bytes, job.stream),
                "copying to the GPU", job.device.ordinal());
      if (!outcome.status) break;
    }
    seal(job, outcome);
    acquire(lock);
    for (const Job::Load& load : batch) ring_->give_back(load.slot, outcome.mark);
    ++changes_;
    if (!outcome.status) fail(job, outcome.status);
  }
  job.is_issuing = false;
}

void Stager::issue_down(std::unique_lock<std::mutex>& lock, const Task& task) {
  Job& job = *task.job;
  const cuda::Driver& driver = job.device.driver();
  const Chunk& chunk = job.plan.chunks[task.chunk];
  lock.unlock();
  Outcome outcome;
  {
    const cuda::NvtxLabel named(job.label);
    outcome.status =
        check(driver, driver.memcpy_dtoh_async(task.slot->memory, chunk.device, chunk.size_bytes, job.stream),
              "copying from the GPU", job.device.ordinal());
  }
  seal(job, outcome);
  acquire(lock);
  job.is_issuing = false;
  if (!outcome.status) fail(job, outcome.status);
  if (job.is_cancelled) {
    ring_->give_back(task.slot, std::move(outcome.mark));
  } else {
    task.slot->busy_until = std::move(outcome.mark);
    job.landings.push_back({task.slot, task.chunk, chunk.size_bytes});
    ++changes_;
  }
}

// Puts a mark behind what was issued. Without one, slots can be used again only when all of the stream is over.
void Stager::seal(const Job& job, Outcome& outcome) {
  if (outcome.status) {
    auto mark = Mark::after(job.device, job.stream);
    if (mark) {
      outcome.mark = *mark;
      return;
    }
    outcome.status = mark.error();
  }
  job.device.driver().stream_synchronize(job.stream);
}

void Stager::hand_out_grain(std::unique_lock<std::mutex>& lock, const Task& task) {
  Job& job = *task.job;
  Job::Load& load = *task.load;
  lock.unlock();
  const Status status = load.slot->busy_until->status();
  if (status) scatter(job.plan, job.plan.chunks[load.chunk], task.begin, task.end, load.slot->memory);
  acquire(lock);
  load.finished += task.end - task.begin;
  if (load.is_finished()) {
    ring_->give_back(load.slot, nullptr);
    job.handing.erase(task.load);
    ++changes_;
  }
  if (!status) fail(job, status);
}

void Stager::fail(Job& job, const Status& status) {
  if (job.status) job.status = status;
  abandon(job);
}

void Stager::abandon(Job& job) {
  job.is_cancelled = true;
  for (const Job::Load& load : job.landings) {
    std::shared_ptr<Mark> mark = std::move(load.slot->busy_until);
    ring_->give_back(load.slot, std::move(mark));
  }
  job.landings.clear();
  // What threads have taken they finish; the last of them lets go of the slot.
  for (Job::Loads* loads : {&job.gathering, &job.handing}) {
    loads->remove_if([this](Job::Load& load) {
      load.cut();
      if (load.is_finished()) ring_->give_back(load.slot, nullptr);
      return load.is_finished();
    });
  }
}

// Marks the end of the copies when all are issued, and lets go of a job that is over.
void Stager::conclude(Job& job) {
  if (job.has_issued() && job.done == nullptr) {
    const InContext in_context(job.device);
    auto mark = Mark::after(job.device, job.stream);
    if (mark) {
      job.done = *mark;
    } else {
      job.device.driver().stream_synchronize(job.stream);
      if (job.status) job.status = mark.error();
    }
  }
  if (!job.is_over() || job.finished_ns != 0) return;
  job.finished_ns = steady_ns();
  jobs_.remove_if([&job](const std::shared_ptr<Job>& one) { return one.get() == &job; });
}

void Stager::cancel(Job& job) {
  std::unique_lock lock(mutex_);
  if (!job.is_over()) abandon(job);
  conclude(job);
  while (!job.is_over()) look_out(lock);
}

bool Stager::is_at_work(Direction direction, const Device& device) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const std::shared_ptr<Job>& job) {
    return job->direction == direction && &job->device == &device;
  });
}

bool Stager::is_issued(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return job.is_issued();
}

Stager::JobOutcome Stager::outcome(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return {job.status, job.done, job.finished_ns == 0 ? 0 : job.finished_ns - job.started_ns};
}

bool Stager::hand_out_landed(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  Task task;
  for (bool may_ask = true; !job->is_shared && pick_landing(job, task, may_ask); may_ask = true) carry(lock, task);
  return job->is_over();
}

bool Stager::is_over(const Job& job) const {
  const std::lock_guard lock(mutex_);
  return job.is_over();
}

Result<Slot*> Stager::take_slot(const Device& device, const CUstream_st* stream) {
  std::unique_lock lock(mutex_);
  bool may_ask = true;
  while (true) {
    ring_->forget_failure();
    ring_->collect();
    if (Slot* slot = ring_->take({&device, stream, false}); slot != nullptr) return slot;
    if (ring_->failure()) return *ring_->failure();
    if (!hand_out_for_others(lock, may_ask)) may_ask = look_out(lock);
  }
}

void Stager::give_back(Slot* slot, std::shared_ptr<Mark> mark) {
  const std::lock_guard lock(mutex_);
  ring_->give_back(slot, std::move(mark));
}

void Stager::configure(const Settings& settings) {
  std::unique_lock lock(mutex_);
  // Others may submit whenever the lock is open.
  while (!jobs_.empty() || !threads_.empty() || ring_->taken() > 0) {
    wait_for_jobs(lock);
    stop_threads(lock);
    look_out(lock);
  }
  settings_ = settings;
  ring_.reset();  // first: the page-locked memory of both would be more than either allows
  ring_ = ring_for(any_device_, settings);
}

std::size_t Stager::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return ring_->pinned_bytes();
}

std::size_t Stager::release_pinned() {
  const std::lock_guard lock(mutex_);
  return ring_->release();
}

}  // namespace turnpike::move
