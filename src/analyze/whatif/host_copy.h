// How many bytes the host copies in a nanosecond.
#pragma once

namespace turnpike::analyze {

// One thread: packing, and the driver's staging of pageable memory.
inline constexpr double kHostCopyGbps = 8.0;
// The threads of tp.to, from pageable into page-locked memory (docs/move.md: 64 MiB of one tensor).
inline constexpr double kStagedInThreadsGbps = 33.7;

}  // namespace turnpike::analyze
