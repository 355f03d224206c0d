// Advice follows from who is late, numbers of workers from the recorded times and cores.
#include "analyze/rules/loader_advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/model/cpu_use.h"
#include "analyze/model/metadata_words.h"
#include "analyze/rules/batch_pauses.h"
#include "analyze/rules/measure.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {
namespace {

// More workers than this are more than most machines have cores for.
constexpr std::int64_t kManyWorkers = 16;

// The uploads that bring the batches: those that take them, and those that follow with nothing launched between them.
Selection uploads_of(const ProcessModel& model, const BatchWaits& waits) {
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

double step_ns_after(const ProcessModel& model, const std::vector<NamedChange>& changes) {
  const auto step = predict(model, changes);
  return step ? step->predicted_ns : model.measured_step_ns();
}

double step_ns_with(const ProcessModel& model, const BatchWaits& waits, bool is_up_ahead) {
  return step_ns_after(model, changes_for(model, waits, is_up_ahead));
}

// What a step would take if each batch were ready.
double rest_ns(const ProcessModel& model, const BatchWaits& waits) {
  return step_ns_with(model, waits, false);
}

double wait_a_step_ns(const ProcessModel& model, const BatchWaits& waits) {
  return static_cast<double>(waits.total_ns) / static_cast<double>(model.step_count());
}

// So many workers load a batch in the time that the rest of a step takes.
std::int64_t workers_needed(const ProcessModel& model, const BatchWaits& waits) {
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

// The saving that the finding names is of the part that the advice reaches.
std::string part_of_ready_batches(const ProcessModel& model, double ready_step_ns, const std::string& reason) {
  return "with every batch ready, a step would take " + time_text(model.measured_step_ns() - ready_step_ns) +
         " less; this reaches a part of it: " + reason;
}

// The workers together deliver one batch in the time of a step, without the pauses that begin an epoch. They must
// deliver one in the time of a step with ready batches. Rounded up to one decimal.
double times_as_many_workers(const ProcessModel& model, const BatchWaits& waits, const Selection& starts) {
  constexpr double kTooMany = 1000;
  constexpr double kRounding = 1e-6;
  double step_ns = model.measured_step_ns();
  std::vector<NamedChange> changes = changes_for(model, waits, false);
  if (!starts.empty()) {
    const NamedChange without_starts{Change::kFasterLoader, starts};
    step_ns = step_ns_after(model, {without_starts});
    changes.push_back(without_starts);
  }
  const double times = std::min(step_ns / std::max(step_ns_after(model, changes), 1.0), kTooMany);
  return std::max(std::ceil(10 * (times - kRounding)) / 10, 1.1);
}

std::string times_text(double times) {
  char text[32];
  std::snprintf(text, sizeof text, "%g times", times);
  return text;
}

// The busy cores are those of all ranks of a machine, and all ranks get the same advice.
bool has_cores_for(const std::optional<CpuUse>& cpu, double times) {
  return cpu ? times * cpu->busy <= cpu->cores : times <= static_cast<double>(kManyWorkers);
}

// In bench/field (timm_jpeg, dcgan) twice as many workers reached 0.94 of this and more, where most of the CPU was
// idle. Of two threads that share a core, one that is idle is only half a core: so it takes three idle ones for each
// busy one that is to be added.
Reach reach_of_more_workers(const ProcessModel& model, const BatchWaits& waits, const std::optional<CpuUse>& cpu,
                            double times) {
  const bool has_room = cpu && cpu->idle() >= 3 * cpu->busy * (times - 1);
  const std::string reason = times_text(times) + " as many workers load " + times_text(times) + " as fast" +
                             (has_room ? "" : ", as far as the CPU has cores for them") + of_cores_text(cpu);
  return {.low = has_room ? 1 : kWorkersAtLeast,
          .reason = has_room ? reason : part_of_ready_batches(model, rest_ns(model, waits), reason)};
}

Reach reach_of_less_work(const ProcessModel& model, const BatchWaits& waits) {
  return {
      .low = 0,
      .reason = part_of_ready_batches(model, rest_ns(model, waits), "how much less a sample can take is not known")};
}

LoaderAdvice advice_for_workers(const ProcessModel& model, const BatchWaits& waits, const Selection& starts) {
  const auto cpu = cpu_use_of(model.process());
  const double times = times_as_many_workers(model, waits, starts);
  if (has_cores_for(cpu, times)) {
    return {"Start " + times_text(times) +
                " as many workers (num_workers=): so many make each batch ready in time. If single batches are late, "
                "also keep more of them ready (prefetch_factor=).",
            reach_of_more_workers(model, waits, cpu, times)};
  }
  return {"Do less for each sample: decode and resize once and store that, and normalise on the GPU. It would take " +
              times_text(times) + " as many workers, and the CPU has no cores for them" + of_cores_text(cpu) + ".",
          reach_of_less_work(model, waits)};
}

// Workers that stay have nothing to start, but the first batch of an epoch is still to be loaded: at worst that takes
// as long as the wait for it took.
Reach reach_of_staying_workers(const BatchWaits& waits) {
  if (waits.awaiting_ns <= 0) return {};
  return {.low = 1 - static_cast<double>(waits.awaiting_ns) / static_cast<double>(waits.total_ns),
          .reason = "the first batch of an epoch is still to be loaded while the program waits"};
}

// Too few to hide the loading: a step lasts until they have loaded a batch. Without an idle core, the one worker may
// take as much time from the main process as it saves.
Reach reach_of_few_workers(const ProcessModel& model, const BatchWaits& waits, const CpuUse& cpu,
                           std::int64_t workers) {
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
Reach reach_of_a_thread(const ProcessModel& model, const BatchWaits& waits, const std::string& doing) {
  const double rest = rest_ns(model, waits);
  return {.low = 0,
          .high = kThreadAtMost,
          .adds_ns = std::max(rest - step_ns_with(model, waits, true), 0.0),
          .reason = part_of_ready_batches(model, rest,
                                          "a thread of this process " + doing + ": Python runs one thread at a time")};
}

LoaderAdvice advice_for_main_process(const ProcessModel& model, const BatchWaits& waits) {
  const auto cpu = cpu_use_of(model.process());
  const std::int64_t needed = workers_needed(model, waits);
  const std::int64_t workers = std::min(needed, workers_with_a_core(model, cpu));
  if (workers < needed && workers == kManyWorkers) {
    return {
        "Do less for each sample, or prepare the data once and store it. Loading takes so much longer than the rest "
        "of the step that workers alone will not hide it.",
        reach_of_less_work(model, waits)};
  }
  LoaderAdvice advice{.text = "Load in workers: tp.prefetch(DataLoader(..., num_workers=" + std::to_string(workers) +
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

LoaderAdvice advice_by_doing(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen,
                             const Selection& starts) {
  if (waits.doing == Doing::kStartsWorkers) {
    return {
        "Keep the workers: DataLoader(..., persistent_workers=True). Make the DataLoader once, before the loop over "
        "the epochs.",
        reach_of_staying_workers(waits)};
  }
  if (waits.doing == Doing::kAwaitsWorkers) return advice_for_workers(model, waits, starts);
  if (waits.doing == Doing::kReceives) {
    return {
        "Take batches over in another thread: DataLoader(..., pin_memory=True). More workers gain nothing here. Fewer "
        "and larger tensors, or a larger batch, take less; a small data set loads faster with num_workers=0.",
        reach_of_a_thread(model, waits, "takes them over")};
  }
  // Without samples nothing tells who makes the batch: mostly it is a DataLoader.
  if (waits.doing == Doing::kLoads || seen.place.empty()) return advice_for_main_process(model, waits);
  return {
      "Make the next batch while the GPU computes: for x in tp.prefetch(batches, device). Here batches is a "
      "generator.",
      reach_of_a_thread(model, waits, "makes them, unless the generator draws random numbers"), true};
}

// The change ends whole pauses.
void leave_other_work(const BatchWaits& waits, Reach& reach) {
  if (waits.other_ns <= 0) return;
  const double part = static_cast<double>(waits.total_ns) / static_cast<double>(waits.total_ns + waits.other_ns);
  reach.low *= part;
  reach.high *= part;
  reach.reason += (reach.reason.empty() ? "" : "; ") + std::string("other work of the program in these pauses stays");
}

}  // namespace

std::vector<NamedChange> changes_for(const ProcessModel& model, const BatchWaits& waits, bool is_up_ahead) {
  std::vector<NamedChange> changes = {{Change::kFasterLoader, waits.takers}};
  if (!is_up_ahead) return changes;
  Selection uploads = uploads_of(model, waits);
  if (is_link_known(model, uploads, Direction::kHostToDevice)) {
    changes.push_back({Change::kPrefetch, std::move(uploads)});
  }
  return changes;
}

LoaderAdvice advice_for(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen,
                        const Selection& starts) {
  LoaderAdvice advice = advice_by_doing(model, waits, seen, starts);
  leave_other_work(waits, advice.reach);
  return advice;
}

}  // namespace turnpike::analyze
