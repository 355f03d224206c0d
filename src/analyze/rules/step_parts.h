// What part of a step each of its calls belongs to. Launches carry no stack: the samples beside them tell.
#pragma once

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

struct StepCalls {
  Selection model;              // nn.Module's forward, and the backward pass; what no sample is near to, too
  Selection optimizer;          // torch.optim, GradScaler, clip_grad
  bool are_told_apart = false;  // false: there are no samples, and all calls are the model's
};

StepCalls calls_by_part(const ProcessModel& model);

// How much shorter a step would be, in per cent, if these launches were one.
double saving_as_graph_pct(const ProcessModel& model, const Selection& calls);

}  // namespace turnpike::analyze
