#include "report/html/source_excerpts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace turnpike::report::html {
namespace {

constexpr std::uint32_t kAround = 4;
constexpr std::uint32_t kMaxLines = 200;
constexpr std::size_t kMaxFiles = 50;

struct Stretch {
  std::uint32_t first;
  std::uint32_t last;
};

// `lines`: most cost first. Grows while it fits.
Stretch stretch_of(const std::vector<std::uint32_t>& lines) {
  Stretch stretch{lines.front(), lines.front()};
  for (const std::uint32_t line : lines) {
    const Stretch wider{std::min(stretch.first, line), std::max(stretch.last, line)};
    if (wider.last - wider.first + 1 + 2 * kAround <= kMaxLines) stretch = wider;
  }
  return {stretch.first > kAround ? stretch.first - kAround : 1, stretch.last + kAround};
}

void add_excerpts(const std::string& file, const std::map<std::uint32_t, std::string>& lines,
                  std::vector<Excerpt>& excerpts) {
  std::uint32_t next = 0;
  for (const auto& [number, line] : lines) {
    if (number != next) excerpts.push_back({file, number, {}});
    excerpts.back().lines.push_back(line);
    next = number + 1;
  }
}

}  // namespace

std::vector<Excerpt> excerpts_of(const analyze::Report& report) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> wanted;
  for (const analyze::LineTime& line : report.lines) {
    auto of_file = std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.first == line.file; });
    if (of_file == wanted.end()) {
      if (wanted.size() == kMaxFiles) continue;
      of_file = wanted.insert(wanted.end(), {line.file, {}});
    }
    of_file->second.push_back(line.line);
  }
  std::vector<Excerpt> excerpts;
  for (const auto& [file, lines] : wanted) {
    const Stretch stretch = stretch_of(lines);
    add_excerpts(file, report.source_text.lines(file, stretch.first, stretch.last), excerpts);
  }
  return excerpts;
}

}  // namespace turnpike::report::html
