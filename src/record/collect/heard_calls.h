// The calls that were recorded, by their correlation ids: for kernels that CUPTI goes on to record when nobody listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnpike::record {

// Collector's thread only. Remembers each call until so many ids later that its kernels have been delivered.
class HeardCalls {
 public:
  void add(std::uint32_t correlation) { of(correlation) = correlation; }
  bool has(std::uint32_t correlation) { return of(correlation) == correlation; }

 private:
  static constexpr std::size_t kCalls = std::size_t{1} << 20;  // 4 MiB; some ten seconds of a busy program

  std::uint32_t& of(std::uint32_t correlation) {
    if (newest_.empty()) newest_.resize(kCalls);
    return newest_[correlation % kCalls];
  }

  std::vector<std::uint32_t> newest_;  // by id, modulo; 0 is no call's
};

}  // namespace turnpike::record
