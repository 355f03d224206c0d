// What guards the tables that all threads share and seldom change.
#pragma once

#include <mutex>

namespace turnpike::guard {

// Guards places, log rows, deferred and raised events, prepared rules and operator names. It is one mutex because a
// fork must hold it: the child lacks the threads that would unlock it. A thread that holds it takes no other lock,
// neither the GIL nor the loader's.
std::mutex& tables_mutex() noexcept;

}  // namespace turnpike::guard
