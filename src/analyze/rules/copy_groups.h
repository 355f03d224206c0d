// Small copies at neighbouring lines that together are many: a batch taken apart by hand.
#pragma once

#include <vector>

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// Copies of one line alone are no group, nor are values of a few bytes that are read back.
std::vector<CopyGroup> find_copy_groups(const ProcessModel& model);

}  // namespace turnpike::analyze
