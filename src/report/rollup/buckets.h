// The buckets of the histograms in a roll-up, the same in every version: those of many processes are added up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::report::rollup {

// Of the histograms of rates and of waits; the first and the last bucket take what lies beyond them.
inline constexpr std::size_t kBuckets = 32;

// Two buckets for each doubling; bucket 0 starts at 1/64 GB/s. `bytes` and `time_ns` above 0.
std::size_t rate_bucket(std::uint64_t bytes, std::int64_t time_ns);
// One bucket for each doubling; bucket 0 starts at 256 ns. `wait_ns` above 0.
std::size_t wait_bucket(std::int64_t wait_ns);
// 128 buckets for each doubling, from 1 ns on: fine enough that the slowest of many ranks can be told. Not limited to
// kBuckets.
std::int32_t own_bucket(std::int64_t own_ns);

}  // namespace turnpike::report::rollup
