// Sorts the calls of a process by the places that the rules look at.
#pragma once

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

RuleInput rule_input(const ProcessModel& model);

}  // namespace turnpike::analyze
