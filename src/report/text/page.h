// A page of text of a fixed width: nothing that is put on it can be wider, and colour never counts as width.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::report {

// Narrower is not tried: words would no longer fit.
inline constexpr std::size_t kMinPageWidth = 40;

enum class Style { kPlain, kHeading, kNote, kCode, kWarning };

class Page {
 public:
  Page(std::size_t width, bool has_colour) : width_(width), has_colour_(has_colour) {}

  // All text is cleaned (text_width.h) first. A line too long is shortened at its end.
  void line(std::string_view text, Style style = Style::kPlain);
  void blank() { text_ += '\n'; }
  // Wrapped; the first line starts with `first`, which is as wide as the indent of the others. What `most_lines` do not
  // hold is left out, and "..." says so.
  void paragraph(std::string_view first, std::string_view text, Style style = Style::kPlain,
                 std::size_t most_lines = std::numeric_limits<std::size_t>::max());
  // The lines of another page, which is as wide.
  void append(const Page& other) { text_ += other.text_; }

  std::size_t width() const { return width_; }
  bool has_colour() const { return has_colour_; }
  std::size_t line_count() const { return static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')); }
  const std::string& text() const { return text_; }

 private:
  void put(std::string_view clean, Style style);

  std::size_t width_;
  bool has_colour_;
  std::string text_;
};

}  // namespace turnpike::report
