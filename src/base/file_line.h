// "train.py:23": a line of a file, as reports write it and people type it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike {

struct FileLine {
  std::string_view file;  // empty: the text is a line alone
  std::uint32_t line = 0;
};

// Of the text behind the last colon, or all of it without one; nullopt where that is no number.
std::optional<FileLine> parse_file_line(std::string_view text);

}  // namespace turnpike
