// Reads the metadata and the device records of a process.
#include "analyze/model/source.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyze/model/link_state.h"
#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {
namespace {

constexpr char kArgumentSeparator = '\x1f';
constexpr std::string_view kVersionSuffix = "_version";

// As one would type it: arguments with anything but plain characters stand in quotes.
std::string shell_word(std::string_view argument) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) return std::string(argument);
  std::string word = "'";
  for (const char letter : argument) {
    if (letter == '\'') {
      word += "'\\''";
    } else {
      word += letter;
    }
  }
  return word + "'";
}

std::string command_line(std::string_view arguments) {
  std::string line;
  for (std::size_t start = 0; start <= arguments.size();) {
    const auto end = std::min(arguments.find(kArgumentSeparator, start), arguments.size());
    if (start > 0) line += ' ';
    line += shell_word(arguments.substr(start, end - start));
    start = end + 1;
  }
  return line;
}

void add_metadata(Source& source, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  if (key == "program") {
    if (source.program.empty()) source.program = command_line(value);
  } else if (key == "detail") {
    if (source.detail.empty()) source.detail = value;
  } else if (key == trace::kUnusableMetadata) {
    if (std::count(source.unusable.begin(), source.unusable.end(), value) == 0) source.unusable.push_back(value);
  } else if (key == "host") {
    if (std::count(source.hosts.begin(), source.hosts.end(), value) == 0) source.hosts.push_back(value);
  } else if (key.ends_with(kVersionSuffix)) {
    source.versions.try_emplace(key.substr(0, key.size() - kVersionSuffix.size()), value);
  }
}

// nullopt if it is missing or not a number.
std::optional<std::int64_t> number_of(const trace::Process& process, const char* key) {
  return number_in<std::int64_t>(value_of(process, key));
}

// "count=12 ns=3456". nullopt if it is missing or something else.
std::optional<SelfTime> self_time_of(const trace::Process& process) {
  std::string_view left = value_of(process, trace::kSelfTimeMetadata);
  const auto take = [&left](std::string_view name, std::uint64_t& value) {
    if (!left.starts_with(name)) return false;
    left.remove_prefix(name.size());
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    return error == std::errc();
  };
  SelfTime spent;
  if (!take("count=", spent.count) || !take(" ns=", spent.ns) || !left.empty()) return std::nullopt;
  return spent;
}

Identity identity_of(const trace::Process& process) {
  return {.pid = process.pid,
          .host = std::string(value_of(process, "host")),
          .node = std::string(value_of(process, "node")),
          .job_id = std::string(value_of(process, "job_id")),
          .launcher = std::string(value_of(process, "launcher")),
          .rank = number_of(process, "rank"),
          .local_rank = number_of(process, "local_rank"),
          .world_size = number_of(process, "world_size"),
          .local_world_size = number_of(process, "local_world_size"),
          .node_rank = number_of(process, "node_rank"),
          .restart_count = number_of(process, "restart_count"),
          .self_time = self_time_of(process)};
}

Device device_of(const trace::Process& process, const trace::DeviceRecord& record) {
  Device device{.id = record.device, .name = process.string(record.name), .memory_bytes = record.memory_bytes};
  if (record.numa_node != trace::kUnknownNode) device.numa_node = record.numa_node;
  const LinkState link = link_state_of(process, record.device);
  device.pcie_generation = link.generation;
  device.pcie_width = link.width;
  device.pcie_max_generation = link.max_generation;
  device.pcie_max_width = link.max_width;
  return device;
}

std::int64_t end_of(const trace::Process& process, const Timeline& timeline) {
  if (process.end) return process.end->end_realtime_ns;
  std::int64_t end_ns = process.kept_since_ns;
  for (const Call& call : timeline.calls) {
    if (call.has_times()) end_ns = std::max(end_ns, call.end_ns);
  }
  return end_ns;
}

void add_window(Source& source, const trace::Process& process, const Timeline& timeline) {
  if (process.kept_since_ns == trace::kUnknownTime || process.start_realtime_ns == trace::kUnknownTime) return;
  if (!source.kept) source.kept.emplace();
  const std::int64_t end_ns = end_of(process, timeline);
  source.kept->last_ns = std::max(source.kept->last_ns, end_ns - process.kept_since_ns);
  source.kept->of_ns = std::max(source.kept->of_ns, end_ns - process.start_realtime_ns);
  const std::string reason(value_of(process, trace::kKeptMetadata));
  auto& because = source.kept->because;
  if (!reason.empty() && std::count(because.begin(), because.end(), reason) == 0) because.push_back(reason);
}

}  // namespace

void add_process(Source& source, const trace::Process& process, const Timeline& timeline) {
  ++source.process_count;
  source.identities.push_back(identity_of(process));
  add_window(source, process, timeline);
  for (const auto& [key, value] : process.metadata) add_metadata(source, key, value);
  for (const auto& record : timeline.devices) {
    Device device = device_of(process, record);
    const auto is_same = [&](const Device& known) { return known.id == device.id && known.name == device.name; };
    if (std::none_of(source.devices.begin(), source.devices.end(), is_same))
      source.devices.push_back(std::move(device));
  }
  std::sort(source.devices.begin(), source.devices.end(),
            [](const Device& a, const Device& b) { return std::tie(a.id, a.name) < std::tie(b.id, b.name); });
}

}  // namespace turnpike::analyze
