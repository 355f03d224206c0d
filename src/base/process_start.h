// When this process started.
#pragma once

#include <cstdint>

namespace turnpike {

// On CLOCK_REALTIME, at most 10 ms late: the system counts in ticks. INT64_MIN where it does not tell.
std::int64_t process_start_ns();

}  // namespace turnpike
