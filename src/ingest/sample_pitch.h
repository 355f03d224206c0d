// How often the threads of a file without samples are asked what they were doing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace turnpike::ingest {

// For operators that span `total_ns` on all threads together. Often enough to see what fills the time between calls,
// and not more than is looked at.
inline std::int64_t sample_pitch_ns(double total_ns) {
  constexpr std::int64_t kPitchNs = 200'000;
  constexpr double kMaxSamples = 20'000;
  return std::max(kPitchNs, static_cast<std::int64_t>(total_ns / kMaxSamples));
}

}  // namespace turnpike::ingest
