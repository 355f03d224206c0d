// Knows the optimizer by samples, and a fused one by the names of its kernels.
#include "analyze/rules/slow_optimizer.h"

#include <map>
#include <string>

#include "analyze/cost_model.h"
#include "analyze/rules/measure.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// Less of a step is not worth another optimizer.
constexpr double kMuchOptimizerPct = 5;

// Where most samples of the optimizer were taken; nullptr: there are none.
const Place* place_of_optimizer(const ProcessModel& model) {
  std::map<const Place*, std::size_t> counts;
  const Place* most = nullptr;
  for (const trace::SampleRecord& sample : model.timeline().samples) {
    const Place& place = model.place_of_stack(sample.stack);
    if (place.phase != Phase::kOptimizer || place.site.empty()) continue;
    if (++counts[&place] > (most == nullptr ? 0 : counts[most])) most = &place;
  }
  return most;
}

bool is_fused(const ProcessModel& model, const Selection& optimizer) {
  for (const std::uint32_t call : optimizer) {
    for (const std::uint32_t index : model.operations_of(call)) {
      const Operation& operation = model.graph().operations[index];
      if (operation.kernel == kNone) continue;
      const std::string& name = model.process().string(model.timeline().kernels[operation.kernel].name);
      if (name.find("Fused") != name.npos || name.find("fused") != name.npos) return true;
    }
  }
  return false;
}

}  // namespace

void find_slow_optimizer(const ProcessModel& model, const StepCalls& calls, double saving_pct,
                         std::vector<Candidate>& found) {
  if (saving_pct < kMuchOptimizerPct) return;
  const Place* place = place_of_optimizer(model);
  if (place == nullptr || is_fused(model, calls.optimizer)) return;
  found.push_back(
      {.where = without_library(*place),
       .title = "the optimizer updates its parameters in many launches",
       .evidence = "the optimizer makes " +
                   number_text(static_cast<double>(calls.optimizer.size()) / static_cast<double>(model.step_count())) +
                   " calls to CUDA a step, and the GPU waits for them",
       .advice = "One kernel updates many parameters: torch.optim.AdamW(..., fused=True). Adam and SGD have "
                 "it, too.",
       .changes = {{Change::kGraphLaunch, calls.optimizer}},
       .reach = {.low = kFusedAtLeast,
                 .high = 1,
                 .reason = "the optimizer's Python, which groups the parameters, stays as it is"}});
}

}  // namespace turnpike::analyze
