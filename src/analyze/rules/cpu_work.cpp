// The program works on the CPU, at a line that samples name, while the GPU has nothing to do.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analyze/model/batch_gaps.h"
#include "analyze/model/thread_samples.h"
#include "analyze/rules/batch_waits.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// One pause may be the start, or the end.
constexpr std::size_t kFewPauses = 2;

// What one line does on the CPU, between calls to CUDA.
struct Work {
  Selection calls{};  // that end its pauses
  std::vector<Interval> pauses{};
  std::map<std::string, std::size_t> functions{};  // by name: how many samples were in it
};
using WorkByLine = std::map<Where, Work>;

// The innermost function of Python: what the line had called.
std::string innermost_function(const ProcessModel& model, std::uint32_t stack) {
  for (const trace::Frame* frame : trace::frames_of(model.process(), stack)) {
    if (frame->kind == trace::FrameKind::kPython && !frame->function.empty()) return frame->function;
  }
  return "";
}

// Of a sample; nullopt: it shows no line of the program, or a data loader, whose work another rule tells.
std::optional<Where> line_of_sample(const ProcessModel& model, const trace::SampleRecord& sample) {
  const Place& place = model.place_of_stack(sample.stack);
  if (!place.file || place.is_of_library || place.phase == Phase::kLoader) return std::nullopt;
  Where where = without_library(place);
  where.op.reset();
  return where;
}

// The line at which most samples were taken.
std::optional<Where> line_with_most(const ProcessModel& model, std::span<const trace::SampleRecord> samples) {
  std::map<std::optional<Where>, std::size_t> counts;
  for (const trace::SampleRecord& sample : samples) ++counts[line_of_sample(model, sample)];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : most->first;
}

void add_pause(const ProcessModel& model, std::uint32_t call, const Interval& pause, WorkByLine& work) {
  const auto samples = samples_in(model.timeline(), model.call(call).thread, pause);
  const auto line = line_with_most(model, samples);
  if (!line) return;
  Work& at_line = work[*line];
  at_line.calls.push_back(call);
  at_line.pauses.push_back(pause);
  for (const trace::SampleRecord& sample : samples) ++at_line.functions[innermost_function(model, sample.stack)];
}

// Where no thread calls CUDA, and no step takes its batch behind it.
void add_pauses_in_steps(const ProcessModel& model, WorkByLine& work) {
  std::vector<std::int64_t> ends_of_batch_gaps_ns;
  for (const Interval& gap : model.batch_gaps()) ends_of_batch_gaps_ns.push_back(gap.end_ns);
  std::optional<std::int64_t> reached_ns;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    const Interval pause{reached_ns.value_or(model.call(call).start_ns), model.call(call).start_ns};
    reached_ns = std::max(reached_ns.value_or(model.call(call).end_ns), model.call(call).end_ns);
    if (pause.end_ns - pause.start_ns <= kQuietNs) continue;
    if (std::binary_search(ends_of_batch_gaps_ns.begin(), ends_of_batch_gaps_ns.end(), pause.end_ns)) continue;
    add_pause(model, call, pause, work);
  }
}

// What a loop does before it takes its batch, and that is no loading.
void add_work_before_batches(const ProcessModel& model, WorkByLine& work) {
  for (const BatchWaits& waits : find_batch_waits(model)) {
    if (waits.doing != Doing::kOtherWork) continue;
    for (std::size_t i = 0; i < waits.gaps.size(); ++i) add_pause(model, waits.takers[i], waits.gaps[i], work);
  }
}

std::int64_t idle_ns(const ProcessModel& model, const IntervalSet& pauses) {
  std::vector<Interval> busy;
  for (const Operation& operation : model.graph().operations) busy.push_back({operation.start_ns, operation.end_ns});
  return pauses.subtract(IntervalSet(std::move(busy))).total_ns();
}

std::string function_text(const Work& work) {
  const auto most = std::max_element(work.functions.begin(), work.functions.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == work.functions.end() || most->first.empty() ? "" : "; most samples were in " + most->first + "()";
}

// "once a step"; of what comes more seldom "32 times, in 2 of 58 steps,".
std::string pauses_text(const ProcessModel& model, const Selection& calls) {
  const std::size_t steps = steps_of(model, calls).size();
  if (!model.steps() || steps == calls.size() || calls.size() >= model.step_count())
    return times_a_step(model, calls.size());
  return std::to_string(calls.size()) + " times, " + times_a_step(model, steps) + ',';
}

Candidate candidate_of(const ProcessModel& model, const Where& line, Work work) {
  std::sort(work.calls.begin(), work.calls.end());
  const IntervalSet pauses(work.pauses);
  return {.where = line,
          .title = "the GPU waits for work on the CPU",
          .evidence = pauses_text(model, work.calls) + " the program made no call to CUDA: " +
                      time_with_idle_gpu(model, pauses.total_ns(), idle_ns(model, pauses)) + function_text(work),
          .advice =
              "Do less here, or less often, or in another thread while the GPU computes. What holds the GIL needs "
              "another process.",
          .changes = {{Change::kNoCpuWork, std::move(work.calls)}},
          .reach = {.low = 0, .high = 1, .reason = "nothing tells how much of this work can be left out"}};
}

}  // namespace

void find_cpu_work(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  WorkByLine work;
  add_work_before_batches(model, work);
  add_pauses_in_steps(model, work);
  for (auto& [line, of_line] : work) {
    if (of_line.calls.size() < kFewPauses || !is_recurring(model, of_line.calls)) continue;
    if (!matters(model, idle_ns(model, IntervalSet(of_line.pauses)))) continue;
    found.push_back(candidate_of(model, line, std::move(of_line)));
  }
}

}  // namespace turnpike::analyze
