// Memory of the GPU is given back to CUDA and asked for again in each step; CUDA waits for the GPU to do so.
#include <algorithm>
#include <string_view>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// cudaMallocAsync and cudaFreeAsync, in order with a stream, hold nothing up.
Selection without_ordered(const ProcessModel& model, const Selection& calls) {
  Selection rest;
  for (const std::uint32_t call : calls) {
    const std::string_view name = model.process().string(model.call(call).name);
    const bool is_ordered = name.find("Async") != name.npos || name.find("FromPool") != name.npos;
    if (!is_ordered) rest.push_back(call);
  }
  return rest;
}

std::string advice_for(const SiteCalls& site) {
  if (is_on_stack(site.facts->place, "empty_cache")) {
    return "Leave torch.cuda.empty_cache() out of the loop: PyTorch reuses its memory by itself. If it ran out of "
           "memory without, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True instead.";
  }
  return "Allocate before the loop and reuse the memory. In PyTorch, frees come when memory is short or fragmented: "
         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or a smaller batch.";
}

}  // namespace

void find_alloc_free_sync(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  Selection all;  // what is freed must be allocated again, wherever that is
  Selection all_frees;
  const SiteCalls* worst = nullptr;
  std::int64_t worst_ns = -1;
  for (const SiteCalls& site : input.sites) {
    const Selection frees = without_ordered(model, calls_of(site, model, {CallKind::kDeviceFree}));
    const Selection allocations = without_ordered(model, calls_of(site, model, {CallKind::kDeviceAlloc}));
    all.insert(all.end(), frees.begin(), frees.end());
    all.insert(all.end(), allocations.begin(), allocations.end());
    all_frees.insert(all_frees.end(), frees.begin(), frees.end());
    if (frees.empty() || duration_ns(model, frees) <= worst_ns) continue;
    worst = &site;
    worst_ns = duration_ns(model, frees);
  }
  std::sort(all.begin(), all.end());
  if (worst == nullptr || !is_regular(model, all_frees) || !is_regular(model, all)) return;
  found.push_back({.where = worst->facts->place,
                   .title = std::string("gives GPU memory back to CUDA ") + each_step_text(model) +
                            ", which makes the CPU wait for the GPU",
                   .evidence = "frees " + times_a_step(model, all_frees.size()) + ", allocations " +
                               times_a_step(model, all.size() - all_frees.size()) + "; the frees took " +
                               time_a_step(model, duration_ns(model, all_frees)) + ", the allocations " +
                               time_a_step(model, duration_ns(model, all) - duration_ns(model, all_frees)),
                   .advice = advice_for(*worst),
                   .changes = {{Change::kRemoveAllocation, all}}});
}

}  // namespace turnpike::analyze
