// Seeded numbers that are the same on every machine, which those of <random>'s distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::simulated {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // One of 0 .. count - 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  // From first to last, both of them possible.
  std::size_t between(std::size_t first, std::size_t last) { return first + below(last - first + 1); }
  // True once in `count` times.
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <typename T, std::size_t N>
  const T& of(const T (&choices)[N]) {
    return choices[below(N)];
  }

 private:
  std::uint64_t state_;
};

}  // namespace turnpike::simulated
