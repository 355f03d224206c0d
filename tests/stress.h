// How long stress tests go on. Their suites are called Stress..., and `scripts/test --only stress` runs them for
// longer.
#pragma once

#include <chrono>
#include <cstdlib>

namespace turnpike {

// TURNPIKE_STRESS_SECONDS, or as long as the test usually takes.
inline std::chrono::duration<double> stress_time(double usual_s) {
  const char* wanted = std::getenv("TURNPIKE_STRESS_SECONDS");
  return std::chrono::duration<double>(wanted == nullptr ? usual_s : std::atof(wanted));
}

inline std::chrono::steady_clock::time_point end_of_stress(double usual_s = 0) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(stress_time(usual_s));
}

}  // namespace turnpike
