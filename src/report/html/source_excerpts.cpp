#include "report/html/source_excerpts.h"

#include <algorithm>
#include <utility>

#include "report/text/source_lines.h"

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
  const SourceLines sources(report.source.paths);
  std::vector<Excerpt> excerpts;
  for (const auto& [file, lines] : wanted) {
    const Stretch stretch = stretch_of(lines);
    Excerpt excerpt{file, stretch.first, sources.lines(file, stretch.first, stretch.last - stretch.first + 1)};
    if (!excerpt.lines.empty()) excerpts.push_back(std::move(excerpt));
  }
  return excerpts;
}

}  // namespace turnpike::report::html
