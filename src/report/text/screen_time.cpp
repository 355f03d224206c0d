// Where a step goes: a bar for each part, the largest first, with the lines of the program that it belongs to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/compare/figures.h"
#include "analyze/step_time.h"
#include "base/units.h"
#include "report/text/cause_words.h"
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kBarWidth = 20;  // of the whole step
// A narrow page shows no bars: the lines say more.
constexpr std::size_t kLeastWidthWithBars = 80;
constexpr std::size_t kShareWidth = 5;
constexpr std::size_t kLeastPlaceWidth = 16;

std::string bar_of(double pct) {
  const double length = std::clamp(pct / 100 * kBarWidth, 0.0, static_cast<double>(kBarWidth));
  return std::string(static_cast<std::size_t>(std::lround(length)), '#');
}

// Of a part, each once, most time first. A call without a line says little beside a line.
std::vector<std::string> places_of(const analyze::TimePart& part) {
  const bool has_lines = std::any_of(part.sites.begin(), part.sites.end(),
                                     [](const analyze::IdleSite* site) { return site->line.has_value(); });
  std::vector<std::string> places;
  for (const analyze::IdleSite* site : part.sites) {
    if (has_lines && !site->line) continue;
    std::string place = cleaned(analyze::place_of(*site));
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

// As many as fit, and how many there are besides.
std::string places_text(const analyze::TimePart& part, std::size_t width) {
  const std::vector<std::string> places = places_of(part);
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string more = i + 1 < places.size() ? fmt::format(" and {} more", places.size() - i - 1) : "";
    if (i == 0) {
      text = screen_place(places[i], width - std::min(more.size(), width));
    } else if (display_width(text) + 2 + display_width(places[i]) + more.size() <= width) {
      text += ", " + places[i];
    } else {
      return text + fmt::format(" and {} more", places.size() - i);
    }
  }
  return text;
}

}  // namespace

void print_screen_time(const analyze::Report& report, Page& page) {
  auto parts = analyze::parts_of_time(report);
  if (parts.empty()) return;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.pct > b.pct; });
  page.blank();
  page.line(report.steps ? "WHERE A STEP GOES" : "WHERE THE TIME GOES", Style::kHeading);
  std::size_t name_width = 0;
  for (const analyze::TimePart& part : parts) name_width = std::max(name_width, words_of_part(part).size());
  const bool has_bars = page.width() >= kLeastWidthWithBars;
  for (const analyze::TimePart& part : parts) {
    std::string row =
        fmt::format("  {:<{}}  {:>{}}", words_of_part(part), name_width, percent_text(part.pct), kShareWidth);
    if (has_bars) row += fmt::format("  {:<{}}", bar_of(part.pct), kBarWidth);
    const std::size_t taken = display_width(row) + 2;
    if (taken + kLeastPlaceWidth <= page.width()) row += "  " + places_text(part, page.width() - taken);
    page.line(row);
  }
}

}  // namespace turnpike::report
