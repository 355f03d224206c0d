// What part of a step each of its calls belongs to. Launches carry no stack: the samples beside them tell.
#pragma once

#include <cstdint>
#include <optional>

#include "analyze/rules/own_function.h"
#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// What of a program is its model.
struct ModelCode {
  bool is_module = true;                     // nn.Module's forward; false: no sample shows one
  std::optional<OwnFunction> function = {};  // then this one and what it calls; nullopt: all code of its own
};

struct StepCalls {
  ModelCode code;
  Selection model;              // of that code, and the backward pass; what no sample is near to, too
  Selection optimizer;          // torch.optim, GradScaler, clip_grad
  bool are_told_apart = false;  // false: there are no samples, and all calls are the model's
};

StepCalls calls_by_part(const ProcessModel& model);

// Whether a stack is of the model's code in the forward pass. `place`: of the stack.
bool is_of_model(const ProcessModel& model, const ModelCode& code, const Place& place, std::uint32_t stack);

// How much shorter a step would be, in per cent, if these launches were one.
double saving_as_graph_pct(const ProcessModel& model, const Selection& calls);

}  // namespace turnpike::analyze
