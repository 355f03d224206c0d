// Which names of NVTX ranges are those of steps.
#pragma once

#include <string_view>

namespace turnpike {

// "ProfilerStep" for "ProfilerStep#12", "step" for "step 3".
std::string_view without_number(std::string_view name);

// Whether the name, without its number, ends in the word step or iteration, and is not of an optimizer or a scheduler:
// "train_step", "ProfilerStep".
bool names_a_step(std::string_view name);

}  // namespace turnpike
