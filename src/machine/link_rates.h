// What the links of this machine's devices can do, as `turnpike bench link` has measured it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace turnpike::machine {

// What the link of a device can do, in 1e9 bytes per second; nullopt: not known.
struct LinkRate {
  std::optional<double> h2d_gbps;
  std::optional<double> d2h_gbps;
  std::optional<double> d2h_cached_gbps{};  // into memory that the CPU has read since the last copy
};
// By the name of the device and of the machine.
using LinkRates = std::function<LinkRate(const std::string& device, const std::string& host)>;

// What `turnpike bench link` has measured on this machine and kept. An Error when it cannot be read.
Result<LinkRates> kept_link_rates();

}  // namespace turnpike::machine
