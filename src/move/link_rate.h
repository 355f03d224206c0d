// Measures how fast each device's link to host memory is: what every transfer of a report is compared with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace turnpike::cuda {
struct Driver;
}

namespace turnpike::move {

// Median and quartiles over the repetitions.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};

struct LinkRate {
  int device = 0;
  std::string device_name;
  Spread h2d_pinned_gbps;  // 10^9 bytes a second, kRateBytes at a time from and to page-locked memory
  Spread d2h_pinned_gbps;
  Spread h2d_latency_us;  // device time of one copy of kLatencyBytes
  Spread d2h_latency_us;
  Spread d2h_cached_gbps;  // kCachedBytes at a time, into page-locked memory that the CPU has read since the last copy
};

// Large enough that what a copy costs to start no longer shows.
constexpr std::size_t kRateBytes = std::size_t{256} << 20;
constexpr std::size_t kLatencyBytes = 4096;
// Fits into the caches of a CPU core and its neighbours, which must give up each line before it is overwritten.
constexpr std::size_t kCachedBytes = std::size_t{4} << 20;
constexpr int kWarmUps = 2;
constexpr int kRepetitions = 9;

// Measures one device, or all where `device` is none, with this machine's driver. Takes about a second a device, two
// times kRateBytes of page-locked host memory and kRateBytes of device memory. An Error where there is no driver, where
// there is no GPU, and where a copy brought other bytes than it was given.
Result<std::vector<LinkRate>> measure_links(std::optional<int> device);

// The same with another driver and, for the rate, copies of `rate_bytes` (a multiple of 8, at least kLatencyBytes),
// which count from the first one on before which copies took `warm_up_ms`: an idle GPU takes a moment to raise its
// link. Copies into the CPU's caches are not larger either.
Result<std::vector<LinkRate>> measure_links(const cuda::Driver& driver, std::optional<int> device,
                                            std::size_t rate_bytes, double warm_up_ms = 0);

}  // namespace turnpike::move
