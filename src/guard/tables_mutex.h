// What guards the tables that all threads share and seldom change.
#pragma once

#include "base/fork_mutex.h"

namespace turnpike::guard {

// Guards places, log rows, deferred and raised events, prepared rules and operator names. A thread that
// holds it takes no other lock, neither the GIL nor the loader's.
ForkMutex& tables_mutex() noexcept;

}  // namespace turnpike::guard
