// "train.py:23": a line of a file, as reports write it and people type it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike {

// Stands behind a line whose code a compiler (torch.compile) has put into code of its own: "model.py:42 (compiled)".
inline constexpr std::string_view kCompiledMark = " (compiled)";

// The text before the mark, if it has one.
constexpr std::string_view without_compiled_mark(std::string_view text) {
  return text.ends_with(kCompiledMark) ? text.substr(0, text.size() - kCompiledMark.size()) : text;
}

struct FileLine {
  std::string_view file;  // empty: the text is a line alone
  std::uint32_t line = 0;
};

// Of the text behind the last colon, or all of it without one; nullopt where that is no number. The mark of compiled
// code may follow.
std::optional<FileLine> parse_file_line(std::string_view text);

}  // namespace turnpike
