#include "base/source_text.h"

#include <algorithm>
#include <utility>

namespace turnpike {
namespace {

constexpr std::size_t kMaxLineBytes = 4096;

// Without the end of the line, of Windows' too.
std::string shown_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line.substr(0, kMaxLineBytes));
}

void add_lines(std::string_view rest, std::uint64_t number, std::uint32_t first, std::uint32_t last,
               std::map<std::uint32_t, std::string>& lines) {
  for (; !rest.empty() && number <= last; ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (number >= first) lines.try_emplace(static_cast<std::uint32_t>(number), shown_line(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool has_one_version(const SourceText::Pieces& pieces) {
  return pieces.begin()->first.first == pieces.rbegin()->first.first;
}

}  // namespace

void SourceText::add(const std::string& file, std::string version, std::uint32_t first_line, std::string text) {
  std::string& known = files_[file][{std::move(version), first_line}];
  if (text.size() > known.size()) known = std::move(text);
}

void SourceText::add(const SourceText& other) {
  for (const auto& [file, pieces] : other.files_) {
    for (const auto& [place, text] : pieces) add(file, place.first, place.second, text);
  }
}

std::optional<std::string> SourceText::line(const std::string& file, std::uint32_t number) const {
  constexpr const char* kSpace = " \t";
  const auto found = lines(file, number, number);
  if (found.empty()) return std::nullopt;
  const std::string& line = found.begin()->second;
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == std::string::npos) return std::nullopt;
  return line.substr(first, line.find_last_not_of(kSpace) - first + 1);
}

std::map<std::uint32_t, std::string> SourceText::lines(const std::string& file, std::uint32_t first,
                                                       std::uint32_t last) const {
  std::map<std::uint32_t, std::string> lines;
  const auto pieces = files_.find(file);
  if (pieces == files_.end() || !has_one_version(pieces->second)) return lines;
  for (const auto& [place, text] : pieces->second) {
    if (place.second <= last) add_lines(text, place.second, first, last, lines);
  }
  return lines;
}

}  // namespace turnpike
