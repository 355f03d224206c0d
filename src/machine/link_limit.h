// What a link can be expected to do before anyone has measured it: by PCIe generation and lanes, or by the GPU's model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::machine {

// Of large copies of page-locked memory, in 1e9 bytes per second. A figure that is computed, not measured.
struct LinkLimit {
  double h2d_gbps = 0;
  double d2h_gbps = 0;
  std::string basis;    // "PCIe 5 x16", "NVLink-C2C"
  bool is_c2c = false;  // the link of a Grace CPU, which is no PCIe
};

// None for a generation or a width that there is not.
std::optional<LinkLimit> limit_of_pcie(std::uint32_t generation, std::uint32_t width);

// By the name that the driver gives the GPU. None for a model that is not in the table.
std::optional<LinkLimit> limit_of_model(std::string_view device_name);

}  // namespace turnpike::machine
