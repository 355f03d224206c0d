// Copies from one place of a GPU's memory to another take a part of each step.
#include <string>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

bool is_of_distributed(const ProcessModel& model, const SiteCalls& site, std::uint32_t call) {
  // The reducer of DistributedDataParallel runs in autograd's thread, below no line of Python.
  return model.is_autograd_thread(model.call(call).thread) && site.facts->place.op == "aten::copy_" &&
         !site.facts->place.line;
}

std::string advice_for(const ProcessModel& model, const SiteCalls& site, std::uint32_t call) {
  if (is_of_distributed(model, site, call) || is_on_stack(site.facts->place, "DistributedDataParallel")) {
    return "DistributedDataParallel(model, gradient_as_bucket_view=True): gradients lie in the buckets that are sent, "
           "and are not copied there and back.";
  }
  return "Copy only what is changed afterwards: x.detach() instead of x.clone(). Write results where they belong "
         "(out=), and make x in the layout that is used: x.contiguous() copies where it differs.";
}

}  // namespace

void find_copies_inside_gpu(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    const Selection& calls = copies_of(site, Direction::kDeviceToDevice);
    if (calls.empty() || !is_regular(model, calls)) continue;
    const CopyCount& copies = count_copies(site, Direction::kDeviceToDevice);
    if (!matters(model, copies.device_ns)) continue;
    found.push_back({.where = site.facts->place,
                     .title = "copies inside the GPU",
                     .evidence = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) +
                                 " each; the copies took " + time_a_step(model, copies.device_ns),
                     .advice = advice_for(model, site, calls.front()),
                     .changes = {{Change::kNoDeviceCopy, calls}},
                     .reach = {.low = 0, .high = 1, .reason = "only the program knows which of them it needs"}});
  }
}

}  // namespace turnpike::analyze
