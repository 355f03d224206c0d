#include "report/html/whole_figures.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace turnpike::report::html {
namespace {

constexpr std::string_view kNoBreakSpace = "\u00a0";
// A longer unit stands before those that it begins with.
constexpr std::array<std::string_view, 18> kUnits = {"ns",  "us", "ms", "min", "kB/s", "MB/s", "GB/s", "KiB", "MiB",
                                                     "GiB", "kB", "MB", "GB",  "TB",   "s",    "h",    "B",   "%"};
// What stands inside is shown letter by letter.
constexpr std::array<std::string_view, 3> kVerbatim = {"code", "pre", "style"};

bool is_digit(char c) {
  return '0' <= c && c <= '9';
}

bool is_letter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || is_digit(c) || c == '_';
}

bool begins_with_unit(std::string_view text) {
  return std::any_of(kUnits.begin(), kUnits.end(), [&](std::string_view unit) {
    return text.starts_with(unit) && (unit == "%" || text.size() == unit.size() || !is_letter(text[unit.size()]));
  });
}

// Of a tag without its "<".
std::string_view name_of_tag(std::string_view tag) {
  return tag.substr(0, tag.find_first_of(" />\n"));
}

void append_text(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool parts_a_figure =
        text[i] == ' ' && i > 0 && is_digit(text[i - 1]) && begins_with_unit(text.substr(i + 1));
    if (parts_a_figure) {
      out += kNoBreakSpace;
    } else {
      out += text[i];
    }
  }
}

}  // namespace

std::string with_whole_figures(std::string_view html) {
  std::string out;
  out.reserve(html.size() + html.size() / 64);
  std::size_t verbatim_depth = 0;
  while (!html.empty()) {
    const std::string_view text = html.substr(0, html.find('<'));
    if (verbatim_depth > 0) {
      out += text;
    } else {
      append_text(text, out);
    }
    html.remove_prefix(text.size());
    // Attributes hold no ">": they are escaped.
    const std::string_view tag =
        html.substr(0, html.find('>') == std::string_view::npos ? html.size() : html.find('>') + 1);
    out += tag;
    html.remove_prefix(tag.size());
    if (tag.size() < 2) continue;
    const bool is_end = tag[1] == '/';
    const bool is_verbatim =
        std::find(kVerbatim.begin(), kVerbatim.end(), name_of_tag(tag.substr(is_end ? 2 : 1))) != kVerbatim.end();
    if (is_verbatim && !is_end) ++verbatim_depth;
    if (is_verbatim && is_end && verbatim_depth > 0) --verbatim_depth;
  }
  return out;
}

}  // namespace turnpike::report::html
