// Reads the metadata and the device records of a process.
#include "analyze/model/source.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

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
  } else if (key == "unusable") {
    if (std::count(source.unusable.begin(), source.unusable.end(), value) == 0) source.unusable.push_back(value);
  } else if (key == "host") {
    if (std::count(source.hosts.begin(), source.hosts.end(), value) == 0) source.hosts.push_back(value);
  } else if (key.ends_with(kVersionSuffix)) {
    source.versions.try_emplace(key.substr(0, key.size() - kVersionSuffix.size()), value);
  }
}

}  // namespace

void add_process(Source& source, const trace::Process& process, const Timeline& timeline) {
  ++source.process_count;
  for (const auto& [key, value] : process.metadata) add_metadata(source, key, value);
  for (const auto& record : timeline.devices) {
    Device device{.id = record.device, .name = process.string(record.name), .memory_bytes = record.memory_bytes};
    const auto is_same = [&](const Device& known) { return known.id == device.id && known.name == device.name; };
    if (std::none_of(source.devices.begin(), source.devices.end(), is_same))
      source.devices.push_back(std::move(device));
  }
  std::sort(source.devices.begin(), source.devices.end(),
            [](const Device& a, const Device& b) { return std::tie(a.id, a.name) < std::tie(b.id, b.name); });
}

}  // namespace turnpike::analyze
