// A thread takes the next chunk for which there is a slot; chunks of transfers that somebody waits for go first.
#include "move/schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace turnpike::move {

// A dozen write faster than a link of PCIe 5 reads; more only keep cores from the program. Every thread is used for
// downloads, whose fresh pages have to be cleared first, and where items are gathered one by one.
std::size_t most_gatherers(const Job& job) {
  return job.direction == Direction::kDown || job.plan.is_strided ? SIZE_MAX : job.most_gatherers;
}

void Schedule::add(const std::shared_ptr<Job>& job) {
  auto place = jobs_.begin();
  while (place != jobs_.end() && (job->is_ahead || !(*place)->is_ahead)) ++place;
  jobs_.insert(place, job);
  ++changes_;
}

void Schedule::remove(const Job& job) {
  jobs_.remove_if([&job](const std::shared_ptr<Job>& one) { return one.get() == &job; });
}

bool Schedule::is_at_work(Direction direction, const Device& device) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const std::shared_ptr<Job>& job) {
    return job->direction == direction && &job->device == &device;
  });
}

std::optional<Schedule::Task> Schedule::next(Polling::Turn& turn, const Job* only) {
  ring_->forget_failure();  // of an earlier transfer
  has_asked_ = false;
  for (const auto& job : jobs_) {
    if (only != nullptr && job.get() != only) continue;
    if (auto task = next_of(*job, turn)) return task;
  }
  return std::nullopt;
}

std::optional<Schedule::Task> Schedule::next_of(Job& job, Polling::Turn& turn) {
  if (job.gatherers == most_gatherers(job)) return std::nullopt;
  if (!job.gathering.empty()) {
    if (auto task = next_grain(job, Step::kGather, job.gathering)) return task;
  }
  Slot* slot = slot_for(job, turn);
  if (slot == nullptr) return next_landing(job, turn);
  const std::size_t chunk = job.next++;
  if (job.direction == Direction::kUp) {
    job.gathering.push_back({slot, chunk, job.plan.chunks[chunk].size_bytes});
    ++changes_;  // there is something for others, too
    return next_grain(job, Step::kGather, job.gathering);
  }
  job.is_issuing = true;
  return Task{.job = &job, .step = Step::kIssueDown, .slot = slot, .chunk = chunk};
}

// A slot for the next chunk. An upload asks for a slot whose copy is done before it has another one page-locked. The
// slots of a download become free by copying out, so it asks the device only if there is nothing to copy out.
Slot* Schedule::slot_for(const Job& job, Polling::Turn& turn) {
  const bool is_up = job.direction == Direction::kUp;
  if (job.is_begun() || (!is_up && job.is_issuing)) return nullptr;
  const Taker taker{&job.device, job.stream, job.is_ahead};
  if (is_up && !ring_->has_free()) return ask_for_slot(taker, turn);
  Slot* slot = ring_->take(taker);
  return slot != nullptr || !job.landings.empty() ? slot : ask_for_slot(taker, turn);
}

// One question serves all jobs: if the first gets no slot, those of other streams still may.
Slot* Schedule::ask_for_slot(const Taker& taker, Polling::Turn& turn) {
  if (turn.take()) {
    ring_->collect();
    has_asked_ = true;
  }
  if (!has_asked_) return nullptr;
  Slot* slot = ring_->take(taker);
  if (ring_->has_free()) ++changes_;
  return slot;
}

// The next grain of the last load.
std::optional<Schedule::Task> Schedule::next_grain(Job& job, Step step, Job::Loads& loads) {
  const auto load = std::prev(loads.end());
  if (load->is_taken()) return std::nullopt;
  const std::size_t begin = load->next;
  load->next = std::min(grain_end(job.plan, job.plan.chunks[load->chunk], begin), load->size_bytes);
  job.gatherers += step == Step::kGather ? 1 : 0;
  return Task{.job = &job,
              .step = step,
              .slot = load->slot,
              .chunk = load->chunk,
              .begin = begin,
              .end = load->next,
              .load = load};
}

std::optional<Schedule::Task> Schedule::next_landing(Polling::Turn& turn) {
  for (const auto& job : jobs_) {
    if (auto task = next_landing(*job, turn)) return task;
  }
  return std::nullopt;
}

std::optional<Schedule::Task> Schedule::next_landing(Job& job, Polling::Turn& turn) {
  if (!job.handing.empty()) {
    if (auto task = next_grain(job, Step::kHandOut, job.handing)) return task;
  }
  if (job.landings.empty()) return std::nullopt;
  const Mark& mark = *job.landings.front().slot->busy_until;
  if (!mark.was_passed() && (!turn.take() || !mark.is_passed())) return std::nullopt;
  job.handing.splice(job.handing.end(), job.landings, job.landings.begin());
  ++changes_;
  return next_grain(job, Step::kHandOut, job.handing);
}

// All that has been gathered, for one thread to issue. Copies that are issued together share a mark.
std::optional<Schedule::Task> Schedule::next_batch(Job& job) {
  job.is_issuing = !job.staged.empty();
  if (!job.is_issuing) return std::nullopt;
  job.batch.swap(job.staged);
  return Task{.job = &job, .step = Step::kIssueUp};
}

std::optional<Schedule::Task> Schedule::finished(const Task& task, Outcome&& outcome) {
  switch (task.step) {
    case Step::kGather:
      return gathered(task);
    case Step::kIssueUp:
      return issued_up(task, outcome);
    case Step::kIssueDown:
      issued_down(task, std::move(outcome));
      break;
    case Step::kHandOut:
      handed_out(task, outcome.status);
      break;
  }
  return std::nullopt;
}

std::optional<Schedule::Task> Schedule::gathered(const Task& task) {
  Job& job = *task.job;
  Job::Load& load = *task.load;
  --job.gatherers;
  load.finished += task.end - task.begin;
  if (!load.is_finished()) return std::nullopt;
  ++changes_;
  if (job.is_cancelled) {
    ring_->give_back(load.slot, nullptr);
  } else {
    job.staged.push_back(load);
  }
  job.gathering.erase(task.load);
  return job.is_issuing ? std::nullopt : next_batch(*task.job);
}

std::optional<Schedule::Task> Schedule::issued_up(const Task& task, const Outcome& outcome) {
  for (const Job::Load& load : task.job->batch) ring_->give_back(load.slot, outcome.mark);
  task.job->batch.clear();
  ++changes_;
  if (!outcome.status) fail(*task.job, outcome.status);
  return next_batch(*task.job);
}

void Schedule::issued_down(const Task& task, Outcome&& outcome) {
  Job& job = *task.job;
  job.is_issuing = false;
  if (!outcome.status) fail(job, outcome.status);
  if (job.is_cancelled) {
    ring_->give_back(task.slot, std::move(outcome.mark));
  } else {
    task.slot->busy_until = std::move(outcome.mark);
    job.landings.push_back({task.slot, task.chunk, job.plan.chunks[task.chunk].size_bytes});
    ++changes_;
  }
}

void Schedule::handed_out(const Task& task, const Status& status) {
  Job& job = *task.job;
  task.load->finished += task.end - task.begin;
  if (task.load->is_finished()) {
    ring_->give_back(task.slot, nullptr);
    job.handing.erase(task.load);
    ++changes_;
  }
  if (!status) fail(job, status);
}

void Schedule::fail(Job& job, const Status& status) {
  if (job.status) job.status = status;
  abandon(job);
}

void Schedule::abandon(Job& job) {
  job.is_cancelled = true;
  for (const Job::Load& load : job.landings) {
    std::shared_ptr<Mark> mark = std::move(load.slot->busy_until);
    ring_->give_back(load.slot, std::move(mark));
  }
  job.landings.clear();
  // Threads finish what they have taken; the last one gives the slot back.
  for (Job::Loads* loads : {&job.gathering, &job.handing}) {
    loads->remove_if([this](Job::Load& load) {
      load.cut();
      if (load.is_finished()) ring_->give_back(load.slot, nullptr);
      return load.is_finished();
    });
  }
}

std::vector<std::shared_ptr<Job>> Schedule::fail_unbegun() {
  std::vector<std::shared_ptr<Job>> failed;
  std::copy_if(jobs_.begin(), jobs_.end(), std::back_inserter(failed),
               [](const std::shared_ptr<Job>& job) { return !job->is_begun(); });
  for (const auto& job : failed) fail(*job, *ring_->failure());
  return failed;
}

}  // namespace turnpike::move
