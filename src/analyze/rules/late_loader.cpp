// The GPU waits for the next batch of data.
#include <algorithm>
#include <map>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/model/intervals.h"
#include "analyze/rules/batch_memory.h"
#include "analyze/rules/batch_pauses.h"
#include "analyze/rules/batch_waits.h"
#include "analyze/rules/loader.h"
#include "analyze/rules/loader_advice.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// One may be the start of an epoch, or that of the first.
constexpr std::size_t kFewGaps = 2;

// How much of the waits at least one device had nothing to do. Of a pause in which the program also did other work, the
// same part counts of both.
std::int64_t idle_ns(const ProcessModel& model, const BatchWaits& waits) {
  std::map<std::uint32_t, std::vector<Interval>> busy;  // by device
  for (const Operation& operation : model.graph().operations) {
    busy[operation.device].push_back({operation.start_ns, operation.end_ns});
  }
  const IntervalSet gaps(waits.gaps);
  IntervalSet idle;
  for (auto& [device, intervals] : busy) idle = idle.unite(gaps.subtract(IntervalSet(std::move(intervals))));
  const std::int64_t all_idle_ns = busy.empty() ? gaps.total_ns() : idle.total_ns();
  if (waits.other_ns <= 0) return all_idle_ns;
  const double part = static_cast<double>(waits.total_ns) / static_cast<double>(waits.total_ns + waits.other_ns);
  return static_cast<std::int64_t>(static_cast<double>(all_idle_ns) * part);
}

LoaderSeen seen_in(const ProcessModel& model, const BatchWaits& waits) {
  return loader_in(model, model.call(waits.takers.front()).thread, IntervalSet(waits.gaps));
}

std::string idle_text(const ProcessModel& model, const BatchWaits& waits) {
  return time_with_idle_gpu(model, waits.total_ns, idle_ns(model, waits));
}

std::string evidence_of_starts(const ProcessModel& model, const BatchWaits& waits) {
  const auto count = static_cast<double>(waits.gaps.size());
  return times_a_step(model, waits.gaps.size()) +
         " an epoch began: the program ended its worker processes and started new ones" +
         (waits.awaiting_ns > 0 ? ", and waited for their first batch" : "") + ". It took " +
         time_text(static_cast<double>(waits.total_ns) / count) + " each time, " + idle_text(model, waits);
}

std::string evidence_of_waits(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen) {
  std::string text =
      times_a_step(model, waits.gaps.size()) + " the batch was not ready in time: " + idle_text(model, waits);
  if (waits.doing == Doing::kAwaitsWorkers) {
    text += "; it waited for the worker processes of its DataLoader";
  } else if (waits.doing == Doing::kReceives) {
    text += "; the worker processes of its DataLoader had it, and the main process took it over, tensor by tensor";
  } else if (waits.doing == Doing::kLoads) {
    text += "; the main process loads the data itself (num_workers=0)";
  }
  if (!seen.place.empty() && seen.place != waits.where.site) text += "; mostly it was at " + seen.place;
  const std::uint64_t batch = link_bytes(model, waits.takers.back(), Direction::kHostToDevice);
  if (batch > 0) text += "; a batch is " + bytes_text(static_cast<double>(batch));
  return text;
}

// Workers may be late now and then; what else pauses now and then is no loader.
bool is_loader(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen) {
  if (waits.doing != Doing::kElse) return true;
  return !seen.is_optimizer && is_regular(model, waits.takers);
}

bool is_cheaper_here(const BatchWaits& waits, const LoaderSeen& seen) {
  const auto count = static_cast<std::int64_t>(waits.gaps.size());
  const bool has_workers = waits.doing == Doing::kAwaitsWorkers || waits.doing == Doing::kReceives;
  return seen.is_of_graphs && !has_workers && waits.total_ns < kHandingGraphsNs * count;
}

Selection takers_of_starts(const std::vector<BatchWaits>& all) {
  Selection takers;
  for (const BatchWaits& waits : all) {
    if (waits.doing == Doing::kStartsWorkers) takers.insert(takers.end(), waits.takers.begin(), waits.takers.end());
  }
  std::sort(takers.begin(), takers.end());
  return takers;
}

Candidate candidate_of_starts(const ProcessModel& model, const BatchWaits& waits) {
  LoaderAdvice advice = advice_for(model, waits, {}, {});
  return {.where = waits.where,
          .title = "each epoch starts new worker processes",
          .evidence = evidence_of_starts(model, waits),
          .advice = std::move(advice.text),
          .changes = changes_for(model, waits, false),
          .reach = std::move(advice.reach)};
}

Candidate candidate_of_waits(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen,
                             const Selection& starts) {
  LoaderAdvice advice = advice_for(model, waits, seen, starts);
  const std::string memory = advice.is_deeper ? one_more_batch_text(model) : "";
  return {.where = waits.where,
          .title = waits.doing == Doing::kReceives
                       ? "the GPU waits while the CPU takes the next batch over from a worker process"
                       : "the GPU waits for the next batch, which the CPU is still preparing",
          .evidence = evidence_of_waits(model, waits, seen) + memory,
          .advice = std::move(advice.text),
          .edit = advice.edit,
          .changes = changes_for(model, waits, advice.is_up_ahead),
          .reach = std::move(advice.reach)};
}

}  // namespace

void find_late_loader(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  std::vector<BatchWaits> all = find_batch_waits(model);
  const Selection starts = takers_of_starts(all);
  for (BatchWaits& waits : all) {
    if (waits.doing == Doing::kOtherWork) continue;
    if (waits.gaps.size() + (waits.has_first_epoch ? 1 : 0) < kFewGaps) continue;
    if (waits.doing == Doing::kStartsWorkers) {
      found.push_back(candidate_of_starts(model, waits));
      continue;
    }
    const LoaderSeen seen = seen_in(model, waits);
    if (!is_loader(model, waits, seen) || is_cheaper_here(waits, seen)) continue;
    if (waits.doing != Doing::kElse) add_shorter_waits(model, all, waits);
    found.push_back(candidate_of_waits(model, waits, seen, starts));
  }
}

}  // namespace turnpike::analyze
