// What guards the tables that all threads share and seldom change.
#pragma once

#include <mutex>

namespace turnpike::guard {

// Of places, rows of logs, what was deferred or raised, prepared rules and names of operators. One for all, because it
// is held across a fork: a child has none of the threads that would give it back. Nobody waits for anything else while
// he holds it, neither for Python's lock nor for the loader's.
std::mutex& tables_mutex() noexcept;

}  // namespace turnpike::guard
