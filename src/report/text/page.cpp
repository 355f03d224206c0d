#include "report/text/page.h"

#include <algorithm>

#include "base/shown_text.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

const char* sgr_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kHeading:
      return "\x1b[1m";
    case Style::kNote:
      return "\x1b[2m";
    case Style::kCode:
      return "\x1b[36m";
    case Style::kWarning:
      return "\x1b[33m";
  }
  return "";
}

std::string_view without_trailing_spaces(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

void Page::put(std::string_view clean, Style style) {
  const std::string fitting = shortened_end(without_trailing_spaces(clean), width_);
  const bool is_styled = has_colour_ && style != Style::kPlain && !fitting.empty();
  text_ += is_styled ? sgr_of(style) : "";
  text_ += fitting;
  text_ += is_styled ? "\x1b[0m\n" : "\n";
}

void Page::line(std::string_view text, Style style) {
  put(cleaned(text), style);
}

void Page::paragraph(std::string_view first, std::string_view text, Style style, std::size_t most_lines) {
  const std::string label = cleaned(first);
  const std::size_t indent = std::min(display_width(label), width_ - 1);
  std::string start = label;
  std::vector<std::string> pieces = wrapped(cleaned(shown(text)), width_ - indent);
  if (pieces.size() > most_lines) {
    pieces.resize(most_lines);
    // At the end of the text, so that a line which is full gives way to it.
    if (most_lines > 0) pieces.back() = cut_off(pieces.back(), width_ - indent);
  }
  for (const std::string& piece : pieces) {
    put(start + piece, style);
    start = std::string(indent, ' ');
  }
}

}  // namespace turnpike::report
