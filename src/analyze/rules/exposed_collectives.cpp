// For much of a step nothing but collectives runs: the ranks wait for each other, or the data crosses while no rank
// computes.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::string longest;  // the kind that takes most time
};

// "all-reduce"; of NCCL's other kernels, in which two ranks meet, "send and receive".
std::string_view kind_of(std::string_view kernel_name) {
  const std::string_view collective = collective_of(kernel_name);
  return collective.empty() ? "send and receive" : collective;
}

struct OfDevice {
  std::size_t count = 0;
  std::vector<Interval> collectives;
  std::vector<Interval> others;
  std::map<std::string_view, std::int64_t> time_of_kind_ns;
};

// Empty for a copy.
std::string_view name_of_kernel(const ProcessModel& model, const Operation& operation) {
  if (operation.kernel == kNone) return {};
  return model.process().string(model.timeline().kernels[operation.kernel].name);
}

std::map<std::uint32_t, OfDevice> work_by_device(const ProcessModel& model) {
  std::map<std::uint32_t, OfDevice> devices;
  for (const Operation& operation : model.graph().operations) {
    OfDevice& device = devices[operation.device];
    const Interval time{operation.start_ns, operation.end_ns};
    const std::string_view name = name_of_kernel(model, operation);
    if (!is_of_nccl(name)) {
      device.others.push_back(time);
      continue;
    }
    ++device.count;
    device.collectives.push_back(time);
    device.time_of_kind_ns[kind_of(name)] += time.end_ns - time.start_ns;
  }
  return devices;
}

std::string longest_kind(const OfDevice& device) {
  const auto most = std::max_element(device.time_of_kind_ns.begin(), device.time_of_kind_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == device.time_of_kind_ns.end() ? "" : std::string(most->first);
}

// Of the device on which they are exposed longest.
Collectives measure(const ProcessModel& model) {
  Collectives longest;
  for (auto& [id, device] : work_by_device(model)) {
    const IntervalSet collectives(std::move(device.collectives));
    const std::int64_t exposed_ns = collectives.subtract(IntervalSet(std::move(device.others))).total_ns();
    if (exposed_ns > longest.exposed_ns) longest = {device.count, exposed_ns, longest_kind(device)};
  }
  return longest;
}

std::string advice_for(double a_step, const std::string& kind) {
  if (kind != "all-reduce") {
    return "Compute meanwhile: work = dist.all_gather_into_tensor(..., async_op=True), and work.wait() where the result "
           "is needed. Other collectives and sends have async_op=True, too.";
  }
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
                   .evidence = "collectives " + times_a_step(model, collectives.count) + ", most time in " +
                               collectives.longest + "; nothing else runs for " +
                               time_a_step(model, collectives.exposed_ns) + " (" + rounded_percent_text(pct) +
                               "), which is the most that can be gained. A part of it may be the wait for a rank that "
                               "is late: a report on the recordings of all ranks tells",
                   .advice = advice_for(a_step, collectives.longest),
                   .changes = {},
                   .reach = {}});
}

}  // namespace turnpike::analyze
