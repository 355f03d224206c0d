#include "report/text/text_width.h"

#include <algorithm>
#include <iterator>

#include "base/cleaned_text.h"
#include "base/utf8.h"

namespace turnpike::report {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// East Asian Wide and Fullwidth, and pictures. Blocks that are mostly wide are taken whole.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23F3},   {0x25FD, 0x25FE}, {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB}, {0x26BD, 0x26BE},
    {0x26C4, 0x26C5},   {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F5}, {0x26FA, 0x26FD},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274E},   {0x2753, 0x2757}, {0x2795, 0x2797},
    {0x27B0, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0xA4CF}, {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6},
    {0x16FE0, 0x18D7F}, {0x1AFF0, 0x1B2FF}, {0x1F000, 0x1FAFF}, {0x20000, 0x3FFFD},
};
// Marks drawn onto the character before them.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};
template <std::size_t N>
bool is_in(const Range (&ranges)[N], char32_t value) {
  const auto* found = std::upper_bound(std::begin(ranges), std::end(ranges), value,
                                       [](char32_t v, const Range& range) { return v < range.first; });
  return found != std::begin(ranges) && value <= std::prev(found)->last;
}

std::size_t width_of(const CodePoint& point) {
  if (is_in(kCombining, point.value)) return 0;
  return is_in(kWide, point.value) ? 2 : 1;
}

// The longest start of `text` that fits `width` columns.
std::string_view head_of(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    const CodePoint point = first_code_point(text.substr(position));
    if (used + width_of(point) > width) break;
    used += width_of(point);
    position += point.bytes;
  }
  return text.substr(0, position);
}

// The longest end of `text` that fits `width` columns.
std::string_view tail_of(std::string_view text, std::size_t width) {
  std::size_t excess = display_width(text);
  while (!text.empty() && excess > width) {
    const CodePoint point = first_code_point(text);
    excess -= width_of(point);
    text.remove_prefix(point.bytes);
  }
  return text;
}

constexpr std::string_view kLeftOut = "...";

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += width_of(point);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string shortened_start(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= kLeftOut.size()) return std::string(tail_of(text, width));
  return std::string(kLeftOut) + std::string(tail_of(text, width - kLeftOut.size()));
}

std::string shortened_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= kLeftOut.size()) return std::string(head_of(text, width));
  const std::size_t kept = width - kLeftOut.size();
  // The end of a path says more than its start.
  const std::size_t head = kept / 3;
  return std::string(head_of(text, head)) + std::string(kLeftOut) + std::string(tail_of(text, kept - head));
}

std::string shortened_end(std::string_view text, std::size_t width) {
  return display_width(text) <= width ? std::string(text) : cut_off(text, width);
}

std::string cut_off(std::string_view text, std::size_t width) {
  if (width <= kLeftOut.size()) return std::string(head_of(text, width));
  return std::string(head_of(text, width - kLeftOut.size())) + std::string(kLeftOut);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string rest;
  while (display_width(text) > width) {
    std::string_view head = head_of(text, width);
    // A wide character in a column of one still has to go somewhere.
    if (head.empty()) head = text.substr(0, first_code_point(text).bytes);
    std::size_t end = head.size();
    if (text[end] != ' ') {
      const std::size_t space = head.rfind(' ');
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    // A word that was broken may go on with what no line of a log may begin with.
    if (starts_command(text, true)) text = rest = cleaned(text);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace turnpike::report
