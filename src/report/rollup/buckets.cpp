#include "report/rollup/buckets.h"

#include <algorithm>
#include <cmath>

namespace turnpike::report::rollup {
namespace {

std::size_t within(double bucket) {
  return static_cast<std::size_t>(std::clamp(std::floor(bucket), 0.0, static_cast<double>(kBuckets - 1)));
}

}  // namespace

std::size_t rate_bucket(std::uint64_t bytes, std::int64_t time_ns) {
  constexpr double kBucketsOfDoubling = 2;
  constexpr double kFirstGbps = 1.0 / 64;
  const double gbps = static_cast<double>(bytes) / static_cast<double>(time_ns);
  return within(kBucketsOfDoubling * std::log2(gbps / kFirstGbps));
}

std::size_t wait_bucket(std::int64_t wait_ns) {
  constexpr double kFirstNs = 256;
  return within(std::log2(static_cast<double>(wait_ns) / kFirstNs));
}

std::int32_t own_bucket(std::int64_t own_ns) {
  constexpr double kBucketsOfDoubling = 128;
  const auto time_ns = static_cast<double>(std::max<std::int64_t>(own_ns, 1));
  return static_cast<std::int32_t>(std::floor(kBucketsOfDoubling * std::log2(time_ns)));
}

}  // namespace turnpike::report::rollup
