// For much of a step nothing but collectives runs: the ranks wait for each other, or the data crosses while no rank
// computes.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyze/model/collectives.h"
#include "analyze/model/intervals.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// Of the time; less is the end of a backward pass, which nothing can hide.
constexpr double kMuchPct = 5;
// With more in a step, each tensor has one of its own.
constexpr double kManyAStep = 50;

struct Collectives {
  std::size_t count = 0;
  std::int64_t exposed_ns = 0;
};

// Of the device on which they are exposed longest.
Collectives measure(const ProcessModel& model) {
  struct OfDevice {
    std::size_t count = 0;
    std::vector<Interval> collectives;
    std::vector<Interval> others;
  };
  std::map<std::uint32_t, OfDevice> devices;
  for (const Operation& operation : model.graph().operations) {
    if (operation.kernel == kNone) continue;
    OfDevice& device = devices[operation.device];
    const std::string& name = model.process().string(model.timeline().kernels[operation.kernel].name);
    const bool is_collective = is_of_nccl(name);
    if (is_collective) ++device.count;
    (is_collective ? device.collectives : device.others).push_back({operation.start_ns, operation.end_ns});
  }
  Collectives longest;
  for (auto& [id, device] : devices) {
    const IntervalSet collectives(std::move(device.collectives));
    const std::int64_t exposed_ns = collectives.subtract(IntervalSet(std::move(device.others))).total_ns();
    if (exposed_ns > longest.exposed_ns) longest = {device.count, exposed_ns};
  }
  return longest;
}

std::string advice_for(double a_step) {
  if (a_step > kManyAStep) {
    return "Send many tensors in one collective: DistributedDataParallel(model, bucket_cap_mb=25). It sends buckets of "
           "gradients while the backward pass runs. By hand: flatten the tensors into one.";
  }
  return "Compute meanwhile: DistributedDataParallel(model) sends gradients while the backward pass runs. Send less "
         "often, with model.no_sync() in all but the last pass of an accumulated step, or half the bytes: "
         "model.register_comm_hook(None, default_hooks.bf16_compress_hook).";
}

}  // namespace

void find_exposed_collectives(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  if (!model.steps()) return;
  const Collectives collectives = measure(model);
  const Interval& window = model.graph().window;
  const double pct =
      100.0 * static_cast<double>(collectives.exposed_ns) / static_cast<double>(window.end_ns - window.start_ns);
  if (pct < kMuchPct) return;
  const double a_step = static_cast<double>(collectives.count) / static_cast<double>(model.step_count());
  found.push_back({.where = {},
                   .title = "the GPU runs nothing but collectives",
                   .evidence = "collectives " + times_a_step(model, collectives.count) + "; nothing else runs for " +
                               time_a_step(model, collectives.exposed_ns) + " (" + rounded_percent_text(pct) +
                               "), which is the most that can be gained. A part of it may be the wait for a rank that "
                               "is late: a report on the recordings of all ranks tells",
                   .advice = advice_for(a_step),
                   .changes = {},
                   .reach = {}});
}

}  // namespace turnpike::analyze
