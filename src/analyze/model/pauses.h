// Steps that are no steps: a validation, a checkpoint or the end of an epoch between two of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace turnpike::analyze {

// By step: whether it lasts more than three times the median. All false where there would be more than one in ten: then
// the program is like that.
std::vector<bool> find_pauses(std::span<const std::int64_t> steps_ns);

}  // namespace turnpike::analyze
