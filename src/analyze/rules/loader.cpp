// Looks at the samples one after another.
#include "analyze/rules/loader.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/model/loader_frames.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

bool is_of_graphs(const trace::Frame& frame) {
  return frame.file.find("torch_geometric/data/") != std::string::npos;
}

}  // namespace

LoaderSeen loader_in(const ProcessModel& model, std::uint32_t thread, const IntervalSet& times) {
  LoaderSeen seen;
  std::map<std::string, std::size_t> counts;
  std::size_t all = 0;
  std::size_t of_optimizer = 0;
  for (const trace::SampleRecord& sample : model.timeline().samples) {
    if (sample.thread != thread || times.covered_ns(sample.time_ns, sample.time_ns + 1) == 0) continue;
    if (!model.process().stacks.contains(sample.stack)) continue;
    const auto frames = trace::frames_of(model.process(), sample.stack);
    seen.is_of_graphs |=
        std::any_of(frames.begin(), frames.end(), [](const trace::Frame* frame) { return is_of_graphs(*frame); });
    const Place& place = model.place_of_stack(sample.stack);
    ++all;
    if (place.phase == Phase::kOptimizer) ++of_optimizer;
    if (!place.site.empty()) ++counts[place.site];
  }
  seen.is_optimizer = 2 * of_optimizer > all;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != counts.end()) seen.place = most->first;
  return seen;
}

bool loads_in_main_process(const ProcessModel& model) {
  std::set<std::uint32_t> threads;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) threads.insert(model.call(call).thread);
  const Interval& stretch = model.graph().window;
  const auto& samples = model.timeline().samples;
  return std::any_of(samples.begin(), samples.end(), [&](const trace::SampleRecord& sample) {
    if (sample.time_ns < stretch.start_ns || sample.time_ns >= stretch.end_ns) return false;
    if (!threads.contains(sample.thread) || !model.process().stacks.contains(sample.stack)) return false;
    const auto frames = trace::frames_of(model.process(), sample.stack);
    return std::any_of(frames.begin(), frames.end(), [](const trace::Frame* frame) { return is_of_data_set(*frame); });
  });
}

}  // namespace turnpike::analyze
