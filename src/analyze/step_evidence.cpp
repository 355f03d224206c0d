#include "analyze/step_evidence.h"

#include <algorithm>
#include <set>

namespace turnpike::analyze {
namespace {

void add_call(const ProcessModel& model, std::uint32_t call, StepEvidence& sum) {
  ++sum.calls;
  sum.host_ns += static_cast<double>(model.call(call).duration_ns());
  const std::uint32_t wait = model.synchronisation_of(call);
  if (wait != kNone) sum.host_ns += static_cast<double>(model.call(wait).duration_ns());
  for (const std::uint32_t index : model.operations_of(call)) {
    const Operation& operation = model.graph().operations[index];
    sum.device_ns += static_cast<double>(operation.end_ns - operation.start_ns);
    if (const Transfer* transfer = model.transfer_of(operation)) sum.bytes += static_cast<double>(transfer->bytes);
  }
}

}  // namespace

std::optional<StepEvidence> step_evidence(const ProcessModel& model, const std::vector<NamedChange>& changes) {
  std::set<std::uint32_t> calls;
  for (const NamedChange& change : changes) calls.insert(change.calls.begin(), change.calls.end());
  if (calls.empty()) return std::nullopt;
  StepEvidence evidence;
  for (const std::uint32_t call : calls) add_call(model, call, evidence);
  const double steps = model.steps() ? static_cast<double>(model.step_count()) : 1.0;
  for (double* figure : {&evidence.calls, &evidence.bytes, &evidence.host_ns, &evidence.device_ns}) *figure /= steps;
  return evidence;
}

}  // namespace turnpike::analyze
