// Measures the links of this machine's GPUs in a moment, provided that nobody else uses them.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/result.h"
#include "cuda/nvml.h"
#include "move/link_rate.h"

namespace turnpike::move {

// What a short measurement copies at a time: a thousandth of it is what a copy costs to start.
constexpr std::size_t kShortRateBytes = std::size_t{64} << 20;
// In each direction. A GPU that was idle for a second has lowered its link.
constexpr double kShortWarmUpMs = 150;
// How long it waits for the GPUs to be idle. What NVML says of the use of a GPU is a mean over up to a second, in which
// the program that has just ended still counts.
constexpr std::chrono::milliseconds kIdlePatience{1500};
// No further GPU is begun after so long.
constexpr std::chrono::milliseconds kMeasuringTime{500};

struct IdleLinks {
  std::vector<LinkRate> links;
  std::chrono::duration<double> took{0};  // without the wait for the GPUs to be idle
};

using Sleep = std::function<void(std::chrono::milliseconds)>;
using Now = std::function<std::chrono::steady_clock::time_point()>;

// One GPU of each name, as reports know them by it; none where there is no driver or GPU. An Error where NVML cannot
// tell who uses them, where another process does, and where a measurement failed.
Result<IdleLinks> measure_idle_links();
// The same with others in the place of the driver, NVML and the clock.
Result<IdleLinks> measure_idle_links(const cuda::Driver& driver, const cuda::Nvml& nvml, const Sleep& sleep,
                                     std::size_t rate_bytes = kShortRateBytes,
                                     const Now& now = std::chrono::steady_clock::now);

}  // namespace turnpike::move
