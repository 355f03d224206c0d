// Decides on a crossing: whether it may happen, is noted, or raises an exception where it is called.
#pragma once

#include "guard/crossing.h"

namespace turnpike::guard {

// nullptr: it may happen. Else the text to throw, valid until the thread's next call. Nothing leaves by an exception:
// out of memory, a crossing happens.
const char* judge(const Crossing& crossing) noexcept;

}  // namespace turnpike::guard
