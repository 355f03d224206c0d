// When this process started.
#pragma once

#include <cstdint>

namespace turnpike {

// On CLOCK_REALTIME, at most one tick of 10 ms late. INT64_MIN: the system does not say.
std::int64_t process_start_ns();

}  // namespace turnpike
