// Reads /sys/bus/pci/devices, and asks NVML where that is hidden.
#include "record/collect/link_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "base/file_text.h"
#include "trace/format.h"

namespace turnpike::record {
namespace {

// "32.0 GT/s PCIe": each generation has a rate of its own.
std::optional<std::uint32_t> generation_in(const std::string& text) {
  constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64};
  double rate = 0;  // not by strtod(), which goes by the program's locale
  std::from_chars(text.data(), text.data() + text.size(), rate);
  const auto* const found = std::find(std::begin(kRates), std::end(kRates), rate);
  if (found == std::end(kRates)) return std::nullopt;
  return static_cast<std::uint32_t>(found - std::begin(kRates)) + 1;
}

// A device without a link reads 0, or all ones.
std::optional<std::uint32_t> lanes(unsigned long count) {
  return count >= 1 && count <= 32 ? std::optional(static_cast<std::uint32_t>(count)) : std::nullopt;
}

std::optional<std::uint32_t> width_in(const std::string& text) {
  return lanes(std::strtoul(text.c_str(), nullptr, 10));
}

// "-1": the system does not know.
std::uint16_t node_in(const std::string& text) {
  char* end = nullptr;
  const long node = std::strtol(text.c_str(), &end, 10);
  const bool is_number = end != text.c_str();
  return is_number && node >= 0 && node < trace::kUnknownNode ? static_cast<std::uint16_t>(node) : trace::kUnknownNode;
}

constexpr unsigned int kMostNvlinks = 18;

}  // namespace

std::string LinkWatch::folder_of(const PciAddress& address) const {
  char name[64];
  std::snprintf(name, sizeof(name), "/bus/pci/devices/%04x:%02x:%02x.0/", address.domain, address.bus, address.device);
  return sysfs_ + name;
}

void LinkWatch::add(std::uint32_t device, PciAddress address) {
  State& state = links_[device];
  state = State{};
  state.address = address;
  const std::string folder = folder_of(address);
  state.numa_node = node_in(first_line_of(folder + "numa_node"));
  state.max_generation = generation_in(first_line_of(folder + "max_link_speed"));
  state.max_width = width_in(first_line_of(folder + "max_link_width"));
  read(state, false);
  if (!state.generation || !state.width) state.why_not = "no PCIe link at " + folder;
}

std::map<std::uint32_t, PciAddress> LinkWatch::addresses() const {
  std::map<std::uint32_t, PciAddress> addresses;
  for (const auto& [device, state] : links_) addresses[device] = state.address;
  return addresses;
}

std::uint16_t LinkWatch::numa_node(std::uint32_t device) const {
  const auto found = links_.find(device);
  return found == links_.end() ? trace::kUnknownNode : found->second.numa_node;
}

void LinkWatch::read(State& state, bool has_copied) const {
  const std::string folder = folder_of(state.address);
  // The highest of all reads; std::nullopt is below every number.
  state.generation = std::max(state.generation, generation_in(first_line_of(folder + "current_link_speed")));
  state.width = std::max(state.width, width_in(first_line_of(folder + "current_link_width")));
  state.busy_reads += has_copied;
}

void LinkWatch::read(bool has_copied) {
  for (auto& [device, state] : links_) {
    const bool is_done = state.generation == state.max_generation && state.width == state.max_width;
    if (state.why_not.empty() && !(is_done && state.busy_reads > 0)) read(state, has_copied);
  }
}

bool LinkWatch::has_gaps() const {
  return std::any_of(links_.begin(), links_.end(), [](const auto& link) { return !link.second.why_not.empty(); });
}

void LinkWatch::fill_gaps(const Result<cuda::Nvml>& nvml) {
  const bool is_up = nvml && nvml->init(cuda::kNvmlAttach) == 0;
  for (auto& [device, state] : links_) {
    if (state.why_not.empty()) continue;
    if (!is_up) {
      state.why_not += nvml ? ", and NVML does not start" : ", and " + nvml.error().message;
      continue;
    }
    const std::string bus_id = nvml_bus_id(state.address);
    nvmlDevice_st* handle = nullptr;
    if (nvml->device_by_bus_id(bus_id.c_str(), &handle) != 0) {
      state.why_not += ", and NVML has no GPU " + bus_id;
      continue;
    }
    const auto ask = [&](cuda::NvmlCode (*question)(nvmlDevice_st*, unsigned int*)) {
      unsigned int value = 0;
      return question(handle, &value) == 0 ? lanes(value) : std::nullopt;
    };
    state.generation = ask(nvml->current_generation);
    state.width = ask(nvml->current_width);
    state.max_generation = ask(nvml->card_generation);
    state.max_width = ask(nvml->max_width);
    unsigned int count = 0;
    for (unsigned int link = 0; link < kMostNvlinks; ++link) {
      int is_active = 0;
      if (nvml->nvlink_state(handle, link, &is_active) == 0) count += is_active != 0;
    }
    state.nvlinks = count;
    state.busy_reads = 1;
    state.is_from_nvml = true;
    if (state.generation && state.width) {
      state.why_not.clear();
    } else {
      state.why_not += ", and NVML does not tell";
    }
  }
  if (is_up) nvml->shutdown();
}

void LinkWatch::fill_gaps_from(const LinkWatch& other) {
  for (auto& [device, state] : links_) {
    const auto filled = other.links_.find(device);
    if (!state.why_not.empty() && filled != other.links_.end()) state = filled->second;
  }
}

void LinkWatch::put(Metadata& metadata) const {
  for (const auto& [device, state] : links_) {
    std::string& text = metadata["link." + std::to_string(device)];
    if (!state.why_not.empty()) {
      text = "unknown: " + state.why_not;
      continue;
    }
    text = std::string("from=") + (state.is_from_nvml ? "nvml" : "sysfs");
    const auto add = [&](const char* key, std::optional<std::uint32_t> number) {
      if (number) text += std::string(" ") + key + "=" + std::to_string(*number);
    };
    add("generation", state.generation);
    add("width", state.width);
    add("max_generation", state.max_generation);
    add("max_width", state.max_width);
    add("busy_reads", state.busy_reads);
    add("nvlinks", state.nvlinks);
  }
}

}  // namespace turnpike::record
