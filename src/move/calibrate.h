// Finds out with how many threads and how large chunks this machine moves pageable memory fastest.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "move/move.h"

namespace turnpike::move {

// "plain", "streaming", "string"; none for a name that is none of these.
const char* name_of(Store store);
std::optional<Store> store_of(const std::string& name);

// Rates in 10^9 bytes a second, medians.
struct CalibrationPoint {
  unsigned int threads = 0;
  std::size_t chunk_bytes = 0;
  double h2d_gbps = 0;  // from pageable memory that has been touched, to such that has not
  double d2h_gbps = 0;
  Store store = Store::kPlain;
};

struct Calibration {
  int device = 0;
  std::string device_name;
  double h2d_pinned_gbps = 0;
  double d2h_pinned_gbps = 0;
  Settings settings;  // of the best point
  CalibrationPoint best;
  std::vector<CalibrationPoint> points;  // all that were tried, in their order
};

// Tries threads, then chunk sizes, then ways to store, with copies of kCalibrationBytes, checked byte by byte. Takes a
// few seconds and three times kCalibrationBytes of host memory; `progress` is told after each point. The engine is left
// with the best settings.
Result<Calibration> calibrate(Engine& engine, const cuda::Driver& driver, int device,
                              const std::function<void(std::size_t done, std::size_t all)>& progress,
                              std::size_t bytes = std::size_t{256} << 20);
// With this machine's driver.
Result<Calibration> calibrate(Engine& engine, int device,
                              const std::function<void(std::size_t done, std::size_t all)>& progress);

}  // namespace turnpike::move
