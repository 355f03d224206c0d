// The tables of rates and of models.
#include "machine/link_limit.h"

#include <algorithm>
#include <array>

namespace turnpike::machine {
namespace {

// What 16 lanes reach, by generation from 1 on. The wire carries 4, 8, 15.8, 31.5, 63 and 121 GB/s; packet headers and
// flow control leave 75 to 88 % of it. 3 and 4: what NVIDIA's bandwidthTest is commonly seen to report (12 to 13, and
// 24 to 26); 5: `turnpike bench link` on an H100 (54 to 55); 1, 2 and 6 are scaled from their neighbours.
constexpr std::array kGbpsOf16Lanes = {3.0, 6.0, 12.5, 25.0, 55.0, 110.0};
constexpr std::array<std::uint32_t, 5> kWidths = {1, 2, 4, 8, 16};

// A Grace CPU's link to its GPU is no PCIe. Fusco et al., "Understanding Data Movement in Tightly Coupled Heterogeneous
// Systems" (2024), measured this on a GH200.
constexpr double kC2cUpGbps = 375;
constexpr double kC2cDownGbps = 297;

// A word of the name, and the generation of the card's 16 lanes. The SXM modules of a model have those, too.
struct Model {
  std::string_view word;
  std::uint32_t generation;
};
constexpr std::array kModels = {
    Model{"B100", 5}, Model{"B200", 5}, Model{"H100", 5}, Model{"H200", 5},  Model{"H800", 5},  Model{"H20", 5},
    Model{"A100", 4}, Model{"A800", 4}, Model{"A30", 4},  Model{"A40", 4},   Model{"A10", 4},   Model{"A10G", 4},
    Model{"L4", 4},   Model{"L40", 4},  Model{"L40S", 4}, Model{"L20", 4},   Model{"V100", 3},  Model{"V100S", 3},
    Model{"P100", 3}, Model{"P40", 3},  Model{"T4", 3},   Model{"A6000", 4}, Model{"A5000", 4}, Model{"5090", 5},
    Model{"5080", 5}, Model{"4090", 4}, Model{"4080", 4}, Model{"3090", 4},  Model{"3080", 4},  Model{"2080", 3},
};
constexpr std::array<std::string_view, 3> kGraceModels = {"GH200", "GB200", "GB300"};

// Whether the name has the word: "NVIDIA A100-SXM4-80GB" has A100, and not A10.
bool has_word(std::string_view name, std::string_view word) {
  constexpr std::string_view kSeparators = " -_/";
  for (std::size_t start = 0; start < name.size();) {
    const auto end = std::min(name.find_first_of(kSeparators, start), name.size());
    if (name.substr(start, end - start) == word) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace

std::optional<LinkLimit> limit_of_pcie(std::uint32_t generation, std::uint32_t width) {
  if (generation < 1 || generation > kGbpsOf16Lanes.size()) return std::nullopt;
  if (std::find(kWidths.begin(), kWidths.end(), width) == kWidths.end()) return std::nullopt;
  const double gbps = kGbpsOf16Lanes[generation - 1] * width / 16;
  return LinkLimit{gbps, gbps, "PCIe " + std::to_string(generation) + " x" + std::to_string(width), false};
}

std::optional<LinkLimit> limit_of_model(std::string_view device_name) {
  for (const std::string_view word : kGraceModels) {
    if (has_word(device_name, word)) return LinkLimit{kC2cUpGbps, kC2cDownGbps, "NVLink-C2C", true};
  }
  for (const Model& model : kModels) {
    if (has_word(device_name, model.word)) return limit_of_pcie(model.generation, 16);
  }
  return std::nullopt;
}

}  // namespace turnpike::machine
