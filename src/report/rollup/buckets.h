// The buckets of the histograms in a roll-up, the same in every version: those of many processes are added up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::report::rollup {

// Of both histograms; the first and the last bucket take what lies beyond them.
inline constexpr std::size_t kBuckets = 32;

// Two buckets for each doubling; bucket 0 starts at 1/64 GB/s. `bytes` and `time_ns` above 0.
std::size_t rate_bucket(std::uint64_t bytes, std::int64_t time_ns);
// One bucket for each doubling; bucket 0 starts at 256 ns. `wait_ns` above 0.
std::size_t wait_bucket(std::int64_t wait_ns);

}  // namespace turnpike::report::rollup
