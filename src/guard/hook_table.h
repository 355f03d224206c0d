// The functions of the CUDA runtime that copy, wait and allocate, each with its hook.
#pragma once

#include <span>

#include "base/slots.h"

namespace turnpike::guard {

// A hook for each exported name, with the variants for per-thread default streams (_ptds, _ptsz).
std::span<const Hook> hook_table() noexcept;

// Finds the functions that the hooks themselves call, in the libcudart of a hooked function. False: it lacks some.
bool bind_runtime() noexcept;

// Takes the slots of modules that were loaded since.
void take_new_slots() noexcept;

}  // namespace turnpike::guard
