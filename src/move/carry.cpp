// Each step of a task ends with what the schedule needs to know of it: a failure, and the mark behind what was issued.
#include "move/carry.h"

#include <utility>

#include "cuda/nvtx_label.h"
#include "move/host_copy.h"

namespace turnpike::move {
namespace {

using Outcome = Schedule::Outcome;
using Task = Schedule::Task;

// Puts a mark behind what was issued. Without one, slots can be used again only when all of the stream is over.
Outcome seal(const Job& job, Status issued) {
  if (issued) {
    auto mark = Mark::after(job.device, job.stream);
    if (mark) return {{}, std::move(*mark)};
    issued = mark.error();
  }
  job.device.driver().stream_synchronize(job.stream);
  return {std::move(issued), nullptr};
}

Outcome issue_up(const Task& task) {
  const Job& job = *task.job;
  const cuda::Driver& driver = job.device.driver();
  Status status;
  for (const Job::Load& load : job.batch) {
    const cuda::NvtxLabel named(job.label);
    const Chunk& chunk = job.plan.chunks[load.chunk];
    status = check(driver, driver.memcpy_htod_async(chunk.device, load.slot->memory, chunk.size_bytes, job.stream),
                   "copying to the GPU", job.device.ordinal());
    if (!status) break;
  }
  return seal(job, std::move(status));
}

Outcome issue_down(const Task& task) {
  const Job& job = *task.job;
  const cuda::Driver& driver = job.device.driver();
  const Chunk& chunk = job.plan.chunks[task.chunk];
  Status status;
  {
    const cuda::NvtxLabel named(job.label);
    status = check(driver, driver.memcpy_dtoh_async(task.slot->memory, chunk.device, chunk.size_bytes, job.stream),
                   "copying from the GPU", job.device.ordinal());
  }
  return seal(job, std::move(status));
}

}  // namespace

Outcome carry(const Task& task) {
  const Job& job = *task.job;
  switch (task.step) {
    case Schedule::Step::kGather:
      gather(job.plan, job.plan.chunks[task.chunk], task.begin, task.end, job.store, task.slot->memory);
      return {};
    case Schedule::Step::kIssueUp:
      return issue_up(task);
    case Schedule::Step::kIssueDown:
      return issue_down(task);
    case Schedule::Step::kHandOut: {
      Status status = task.slot->busy_until->status();
      if (status) scatter(job.plan, job.plan.chunks[task.chunk], task.begin, task.end, task.slot->memory);
      return {std::move(status), nullptr};
    }
  }
  return {};
}

}  // namespace turnpike::move
