// The pauses in which a loop waits for its next batch, told apart by what its thread did in them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/intervals.h"
#include "analyze/model/loader_frames.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// Those of one loop in which the thread did the same.
struct BatchWaits {
  // kElse: no sample shows a DataLoader. If one does, all other work counts as kOtherWork.
  Doing doing = Doing::kElse;
  Where where{};       // the line of the loop where a DataLoader is seen, else the line that takes the batch
  Selection takers{};  // the calls behind the pauses, rising
  std::vector<Interval> gaps{};
  std::int64_t total_ns = 0;     // of the pauses, without what follows
  std::int64_t other_ns = 0;     // of them, work of the program that is not the loader's
  std::int64_t awaiting_ns = 0;  // of the total, until workers delivered
  // Of starting workers: there was one more pause, in which the first epoch began. Those workers must start anyway.
  bool has_first_epoch = false;
};

// By what was done, then place.
std::vector<BatchWaits> find_batch_waits(const ProcessModel& model);

// A loader that is late makes each step wait, also those in which it is late by less than a pause that tells a loader.
// `all`: other waits of these steps stay what they are.
void add_shorter_waits(const ProcessModel& model, const std::vector<BatchWaits>& all, BatchWaits& waits);

}  // namespace turnpike::analyze
