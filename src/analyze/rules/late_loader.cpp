// The GPU waits for the next batch of data.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/model/cpu_use.h"
#include "analyze/model/intervals.h"
#include "analyze/model/metadata_words.h"
#include "analyze/rules/batch_memory.h"
#include "analyze/rules/loader.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {
namespace {

// One may be the start of an epoch.
constexpr std::size_t kFewGaps = 2;
// More workers than this are more than most machines have cores for.
constexpr std::int64_t kManyWorkers = 16;

// The waits for the batches that one place takes.
struct Waits {
  Selection takers;  // the calls behind the waits
  std::vector<Interval> gaps;
  std::int64_t total_ns() const {
    std::int64_t sum_ns = 0;
    for (const Interval& gap : gaps) sum_ns += gap.end_ns - gap.start_ns;
    return sum_ns;
  }
};

std::uint64_t link_bytes(const ProcessModel& model, std::uint32_t call, Direction direction) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer != nullptr && transfer->direction == direction) bytes += transfer->bytes;
  }
  return bytes;
}

// What the thread did before the call was to copy into memory that it had just page-locked, or to work on as many bytes
// as had just come down: other rules tell that.
bool is_work_of_another_kind(const ProcessModel& model, std::uint32_t call) {
  std::uint32_t before = model.graph().previous_call[call];
  if (before != kNone && model.call(before).kind == trace::CallKind::kSynchronize) {
    before = model.graph().previous_call[before];
  }
  if (before == kNone) return false;
  const trace::CallKind kind = model.call(before).kind;
  if (kind == trace::CallKind::kHostAlloc || kind == trace::CallKind::kHostRegister) return true;
  const std::uint64_t down = link_bytes(model, before, Direction::kDeviceToHost);
  return down > 0 && down == link_bytes(model, call, Direction::kHostToDevice);
}

std::map<std::string, Waits> waits_by_site(const ProcessModel& model) {
  const std::vector<Interval> gaps = model.batch_gaps();
  std::map<std::string, Waits> waits;
  std::uint32_t call = 0;
  for (const Interval& gap : gaps) {
    const auto count = static_cast<std::uint32_t>(model.graph().calls.size());
    while (call < count && model.call(call).start_ns < gap.end_ns) ++call;
    if (call == count) break;
    if (model.call(call).start_ns != gap.end_ns) continue;  // outside of the stretch
    if (is_work_of_another_kind(model, call)) continue;
    Waits& at_site = waits[model.facts_of_call(call).place.site];
    at_site.takers.push_back(call);
    at_site.gaps.push_back(gap);
  }
  return waits;
}

// How much of the waits at least one device had nothing to do.
std::int64_t idle_ns(const ProcessModel& model, const Waits& waits) {
  std::map<std::uint32_t, std::vector<Interval>> busy;  // by device
  for (const Operation& operation : model.graph().operations) {
    busy[operation.device].push_back({operation.start_ns, operation.end_ns});
  }
  const IntervalSet gaps(waits.gaps);
  IntervalSet idle;
  for (auto& [device, intervals] : busy) idle = idle.unite(gaps.subtract(IntervalSet(std::move(intervals))));
  return busy.empty() ? gaps.total_ns() : idle.total_ns();
}

LoaderSeen seen_in(const ProcessModel& model, const Waits& waits) {
  return loader_in(model, model.call(waits.takers.front()).thread, IntervalSet(waits.gaps));
}

// A loader that is late makes each step wait, also those in which it is late by less than a pause that tells a loader.
void add_shorter_waits(const ProcessModel& model, Waits& waits) {
  std::set<std::uint32_t> stacks;
  for (const std::uint32_t taker : waits.takers) stacks.insert(model.call(taker).stack);
  const std::set<std::uint32_t> known(waits.takers.begin(), waits.takers.end());
  std::set<std::uint32_t> done = steps_of(model, waits.takers);  // a step takes one batch
  Waits all;
  auto gap = waits.gaps.begin();
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (known.contains(call)) {
      all.takers.push_back(call);
      all.gaps.push_back(*gap++);
      continue;
    }
    const std::uint32_t before = model.graph().previous_call[call];
    if (before == kNone || !stacks.contains(model.call(call).stack) || done.contains(model.step_of(call))) continue;
    const Interval pause{model.call(before).end_ns, model.call(call).start_ns};
    if (pause.end_ns - pause.start_ns <= kReadyBatchNs) continue;
    if (link_bytes(model, call, Direction::kHostToDevice) == 0) continue;
    if (is_work_of_another_kind(model, call)) continue;
    done.insert(model.step_of(call));
    all.takers.push_back(call);
    all.gaps.push_back(pause);
  }
  waits = std::move(all);
}

// The uploads that bring the batches: those that take them, and those that follow with nothing launched between them.
Selection uploads_of(const ProcessModel& model, const Waits& waits) {
  Selection uploads;
  std::set<std::uint32_t> threads;  // that are bringing one
  auto taker = waits.takers.begin();
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    const std::uint32_t thread = model.call(call).thread;
    if (taker != waits.takers.end() && *taker == call) {
      threads.insert(thread);
      ++taker;
    }
    if (!threads.contains(thread)) continue;
    if (link_bytes(model, call, Direction::kHostToDevice) > 0) {
      uploads.push_back(call);
    } else if (!model.operations_of(call).empty()) {
      threads.erase(thread);
    }
  }
  return uploads;
}

// Each batch is ready, and with `is_up_ahead` it was brought up before, too, on a stream of its own: what that gains is
// known if the link's rate is.
std::vector<NamedChange> changes_for(const ProcessModel& model, const Waits& waits, bool is_up_ahead) {
  std::vector<NamedChange> changes = {{Change::kFasterLoader, waits.takers}};
  if (!is_up_ahead) return changes;
  Selection uploads = uploads_of(model, waits);
  if (is_link_known(model, uploads, Direction::kHostToDevice)) {
    changes.push_back({Change::kPrefetch, std::move(uploads)});
  }
  return changes;
}

double step_ns_with(const ProcessModel& model, const Waits& waits, bool is_up_ahead) {
  const auto step = predict(model, changes_for(model, waits, is_up_ahead));
  return step ? step->predicted_ns : model.measured_step_ns();
}

// What a step would take if each batch were ready.
double rest_ns(const ProcessModel& model, const Waits& waits) {
  return step_ns_with(model, waits, false);
}

std::string evidence_of(const ProcessModel& model, const Waits& waits, const LoaderSeen& seen) {
  std::string text = times_a_step(model, waits.gaps.size()) + " the program did nothing for the GPU until its batch " +
                     "was ready: " + time_a_step(model, waits.total_ns()) +
                     ", of which the GPU had nothing to do for " + time_a_step(model, idle_ns(model, waits));
  if (seen.is_in_workers) {
    text += "; it waited for the worker processes of its DataLoader";
  } else if (seen.is_in_main_process) {
    text += "; the main process loads the data itself (num_workers=0)";
  }
  if (!seen.place.empty()) text += "; mostly it was at " + seen.place;
  const std::uint64_t batch = link_bytes(model, waits.takers.back(), Direction::kHostToDevice);
  if (batch > 0) text += "; a batch is " + bytes_text(static_cast<double>(batch));
  return text;
}

double wait_a_step_ns(const ProcessModel& model, const Waits& waits) {
  return static_cast<double>(waits.total_ns()) / static_cast<double>(model.step_count());
}

// So many workers load a batch in the time that the rest of a step takes.
std::int64_t workers_needed(const ProcessModel& model, const Waits& waits) {
  constexpr double kTooMany = 1e6;
  const double ready_step_ns = std::max(step_ns_with(model, waits, true), 1.0);
  return static_cast<std::int64_t>(std::min(std::ceil(wait_a_step_ns(model, waits) / ready_step_ns), kTooMany)) + 1;
}

// So many have a core each: this process's share of the idle ones, and the one on which it loads now.
std::int64_t workers_with_a_core(const ProcessModel& model, const std::optional<CpuUse>& cpu) {
  if (!cpu) return kManyWorkers;
  const auto ranks = number_in<std::uint32_t>(value_of(model.process(), "local_world_size")).value_or(1);
  return static_cast<std::int64_t>(std::min<double>(cpu->idle() / std::max(ranks, 1u), kManyWorkers - 1)) + 1;
}

// Behind what workers reach: how many cores there are for them.
std::string of_cores_text(const std::optional<CpuUse>& cpu) {
  return cpu ? " (" + idle_cores_text(*cpu) + ')' : "";
}

struct Advice {
  std::string text;
  Reach reach{};
  bool is_deeper = false;    // one more batch is in flight
  bool is_up_ahead = false;  // part of the change, and not only of its reach
  LineEdit edit{};
};

// The saving that the finding names is of the part that the advice reaches.
std::string part_of_ready_batches(const ProcessModel& model, double ready_step_ns, const std::string& reason) {
  return "if each batch were ready, a step would take " + time_text(model.measured_step_ns() - ready_step_ns) +
         " less, and this reaches a part of it: " + reason;
}

// Workers need for a batch what a step takes with the wait in it; twice as many need half of that. In bench/field
// (timm_jpeg, dcgan) they reached 0.94 of this and more, where most of the CPU was idle. Of two threads that share a
// core, one that is idle is only half a core: so it takes three idle ones for each busy one.
Reach reach_of_twice_the_workers(const ProcessModel& model, const Waits& waits, const std::optional<CpuUse>& cpu) {
  const bool has_room = cpu && cpu->idle() >= 3 * cpu->busy;
  const double step_ns = model.measured_step_ns();
  const double rest = rest_ns(model, waits);
  const double wait_ns = step_ns - rest;
  const double reached = wait_ns <= 0 ? 1 : std::min(1.0, (step_ns - std::max(rest, step_ns / 2)) / wait_ns);
  const std::string reason = std::string("twice as many workers load twice as fast") +
                             (has_room ? "" : ", as far as the CPU has cores for them") + of_cores_text(cpu);
  return {.low = has_room ? reached : kWorkersAtLeast * reached,
          .high = reached,
          .reason = part_of_ready_batches(model, rest, reason)};
}

// Too few to hide the loading: a step lasts until they have loaded a batch. Without an idle core, the one worker may
// take as much time from the main process as it saves.
Reach reach_of_few_workers(const ProcessModel& model, const Waits& waits, const CpuUse& cpu, std::int64_t workers) {
  const double step_ns = model.measured_step_ns();
  const double ready_step_ns = step_ns_with(model, waits, true);
  const double loading_ns = std::max(ready_step_ns, wait_a_step_ns(model, waits) / static_cast<double>(workers));
  const double reached = std::clamp((step_ns - loading_ns) / std::max(step_ns - ready_step_ns, 1.0), 0.0, 1.0);
  const std::string count = workers == 1 ? "one worker loads" : std::to_string(workers) + " workers load";
  const std::string reason = count + " a batch in " + time_text(loading_ns) + of_cores_text(cpu);
  return {.low = cpu.idle() >= 1 ? kWorkersAtLeast * reached : 0,
          .high = reached,
          .reason = part_of_ready_batches(model, ready_step_ns, reason)};
}

// The change is that each batch is ready, of which this reaches a part that may be none: so other findings about the
// same uploads stay beside it. When a batch is there, it also was brought up ahead.
Reach reach_of_a_thread(const ProcessModel& model, const Waits& waits) {
  const double rest = rest_ns(model, waits);
  return {.low = 0,
          .high = kThreadAtMost,
          .adds_ns = std::max(rest - step_ns_with(model, waits, true), 0.0),
          .reason = part_of_ready_batches(model, rest,
                                          "a thread of this process makes them: Python runs one thread at a time, and "
                                          "a generator that draws random numbers may not run ahead")};
}

Advice advice_for(const ProcessModel& model, const Waits& waits, const LoaderSeen& seen) {
  const auto cpu = cpu_use_of(model.process());
  if (seen.is_in_workers) {
    return {
        "The workers are too few or too slow: twice as many (num_workers=, prefetch_factor=). Also do less for each "
        "sample.",
        reach_of_twice_the_workers(model, waits, cpu)};
  }
  // Without samples nothing tells who makes the batch: mostly it is a DataLoader.
  if (!seen.is_in_main_process && !seen.place.empty()) {
    return {
        "Make the next batch while the GPU computes: for x in tp.prefetch(batches, device). Here batches is a "
        "generator.",
        reach_of_a_thread(model, waits), true};
  }
  const std::int64_t needed = workers_needed(model, waits);
  const std::int64_t workers = std::min(needed, workers_with_a_core(model, cpu));
  if (workers < needed && workers == kManyWorkers) {
    return {
        "Do less for each sample, or prepare the data once and store it. Loading takes so much longer than the rest "
        "of the step that workers alone will not hide it."};
  }
  Advice advice{.text = "Load in workers: tp.prefetch(DataLoader(..., num_workers=" + std::to_string(workers) +
                        ", pin_memory=True), device). They load in other processes while the GPU computes; with "
                        "persistent_workers=True they stay for all epochs.",
                .is_deeper = true,
                .is_up_ahead = true,
                .edit = {LineEdit::Kind::kLoadInWorkers, static_cast<std::uint32_t>(workers)}};
  if (workers < needed) {
    advice.text += " To hide all of the loading, do less for each sample, too: the CPU has no cores for more workers.";
    advice.reach = reach_of_few_workers(model, waits, *cpu, workers);
  }
  return advice;
}

bool is_cheaper_here(const Waits& waits, const LoaderSeen& seen) {
  const auto count = static_cast<std::int64_t>(waits.gaps.size());
  return seen.is_of_graphs && !seen.is_in_workers && waits.total_ns() < kHandingGraphsNs * count;
}

}  // namespace

void find_late_loader(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (auto& [site, waits] : waits_by_site(model)) {
    if (waits.gaps.size() < kFewGaps) continue;
    const LoaderSeen seen = seen_in(model, waits);
    // Workers may be late now and then; what else pauses now and then is no loader.
    const bool is_loader = seen.is_in_workers || seen.is_in_main_process;
    if (!is_loader && (seen.is_optimizer || !is_regular(model, waits.takers))) continue;
    if (is_cheaper_here(waits, seen)) continue;
    if (is_loader) add_shorter_waits(model, waits);
    Advice advice = advice_for(model, waits, seen);
    found.push_back({.where = line_of(model, waits.takers.front()),
                     .title = "the GPU waits for the next batch, which the CPU is still preparing",
                     .evidence = evidence_of(model, waits, seen) + (advice.is_deeper ? one_more_batch_text(model) : ""),
                     .advice = std::move(advice.text),
                     .edit = advice.edit,
                     .changes = changes_for(model, waits, advice.is_up_ahead),
                     .reach = std::move(advice.reach)});
  }
}

}  // namespace turnpike::analyze
