// The GPU waits for the next batch of data.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analyze/model/intervals.h"
#include "analyze/rules/batch_memory.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "trace/frames.h"

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

// What samples of the waiting threads show.
struct Seen {
  bool is_in_workers = false;       // the thread waited for other processes to deliver
  bool is_in_main_process = false;  // the data set's own code ran here
  std::string place;                // where it was found most often; empty: no samples
};

Seen look_at_samples(const ProcessModel& model, const Waits& waits) {
  const IntervalSet gaps(waits.gaps);
  const std::uint32_t thread = model.call(waits.takers.front()).thread;
  const trace::Process& process = model.process();
  Seen seen;
  std::map<std::string, std::size_t> counts;
  for (const trace::SampleRecord& sample : model.timeline().samples) {
    if (sample.thread != thread || gaps.covered_ns(sample.time_ns, sample.time_ns + 1) == 0) continue;
    if (!process.stacks.contains(sample.stack)) continue;
    const auto frames = trace::frames_of(process, sample.stack);
    for (const trace::Frame* frame : frames) {
      const std::string_view function = frame->function;
      if (function.find("_try_get_data") != function.npos) seen.is_in_workers = true;
      if (std::string_view(frame->file).ends_with("_utils/fetch.py")) seen.is_in_main_process = true;
    }
    ++counts[place_of(frames, false, "").site];
  }
  counts.erase("");
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != counts.end()) seen.place = most->first;
  return seen;
}

// What a step would take if each batch were ready.
double rest_ns(const ProcessModel& model, const Waits& waits) {
  const NamedChange changes[] = {{Change::kFasterLoader, waits.takers}};
  return predict_step_ns(model, changes).value_or(model.measured_step_ns());
}

std::string evidence_of(const ProcessModel& model, const Waits& waits, const Seen& seen) {
  std::string text = times_a_step(model, waits.gaps.size()) + " the program did nothing for the GPU until its batch " +
                     "was ready: " + time_a_step(model, waits.total_ns()) +
                     ", of which the GPU had nothing to do for " + time_a_step(model, idle_ns(model, waits)) +
                     "; with each batch ready, a step would take " + time_text(rest_ns(model, waits));
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

// So many workers load a batch in the time that the rest of a step takes; 0: more than make sense.
std::int64_t workers_needed(const ProcessModel& model, const Waits& waits) {
  const double wait_ns = static_cast<double>(waits.total_ns()) / static_cast<double>(model.step_count());
  const double without_ns = rest_ns(model, waits);
  if (without_ns <= 0) return 0;
  const auto count = static_cast<std::int64_t>(std::ceil(wait_ns / without_ns)) + 1;
  return count > kManyWorkers ? 0 : count;
}

std::string advice_for(const ProcessModel& model, const Waits& waits, const Seen& seen) {
  const std::string preload =
      " Data that fits into the GPU's memory is better uploaded once, before the loop: then nothing is loaded in it.";
  if (seen.is_in_workers) {
    return "The workers are too few or too slow: raise num_workers and prefetch_factor, and do less for each sample." +
           preload;
  }
  const std::int64_t workers = workers_needed(model, waits);
  if (workers == 0) {
    return "Loading takes so much longer than the rest of the step that workers alone will not hide it: do less for "
           "each sample, or prepare the data once and store it." +
           preload;
  }
  return "Load in other processes while the GPU computes: DataLoader(..., num_workers=" + std::to_string(workers) +
         ", pin_memory=True, persistent_workers=True), and for x in tp.prefetch(loader, device)." + preload;
}

}  // namespace

void find_late_loader(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const auto& [site, waits] : waits_by_site(model)) {
    if (waits.gaps.size() < kFewGaps) continue;
    const Seen seen = look_at_samples(model, waits);
    // Workers may be late now and then; what else pauses now and then is no loader.
    const bool is_loader = seen.is_in_workers || seen.is_in_main_process;
    if (!is_loader && !is_regular(model, waits.takers)) continue;
    const std::string advice = advice_for(model, waits, seen);
    const bool is_deeper = advice.find("prefetch(") != advice.npos;
    found.push_back({.site = site,
                     .title = "the GPU waits for the next batch, which the CPU is still preparing",
                     .evidence = evidence_of(model, waits, seen) + (is_deeper ? one_more_batch_text(model) : ""),
                     .advice = advice,
                     .changes = {{Change::kFasterLoader, waits.takers}}});
  }
}

}  // namespace turnpike::analyze
