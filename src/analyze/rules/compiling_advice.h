// How to compile the model of a program, as code.
#pragma once

#include <string>

#include "analyze/rules/step_parts.h"

namespace turnpike::analyze {

// For the middle of an advice: the code, and what it does, without the last full stop.
std::string compiling_advice(const ProcessModel& model, const ModelCode& code);

}  // namespace turnpike::analyze
