// One process while a run is analysed, for outputs that show more than its sums: they watch instead of reading and
// analysing the run again.
#pragma once

#include <functional>
#include <optional>

#include "analyze/findings.h"
#include "analyze/graph/process_model.h"
#include "analyze/model/activity.h"
#include "analyze/model/stacks.h"
#include "analyze/model/timeline.h"
#include "analyze/rank_waits.h"
#include "analyze/report.h"
#include "analyze/sums/idle.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Valid only while a ProcessWatcher is called with it.
struct ProcessView {
  const trace::Process& process;
  const Timeline& timeline;
  // What its devices waited for; nullptr: kernels are not known, or nothing has times.
  IdleTimes* idle;
  // Its graph, with its places and steps, and its findings, with the changes that retimed_step() takes; nullptr as
  // `idle` is. The report's findings are those of all processes: the same rule and site is the same finding, told by
  // the process that would gain most.
  const ProcessModel* model;
  const FoundFindings* found;
  // What the report found of its stacks and devices, so that nobody finds it twice; nullptr: make your own.
  Stacks* stacks = nullptr;
  const Activity* activity = nullptr;
  // Its collectives, of which the waits for other ranks come once all processes are known; nullptr: it holds none.
  const RankRun* rank = nullptr;
  // As memory_use_of() its timeline; nullptr: find it yourself.
  const std::optional<MemoryUse>* memory = nullptr;
};

// Called once for each process of a run, in the order of its files.
using ProcessWatcher = std::function<void(const ProcessView&)>;

}  // namespace turnpike::analyze
