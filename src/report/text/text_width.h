// Text as a terminal shows it: untrusted bytes made printable, and their width in columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::report {

// Printable UTF-8 from any bytes: control characters, invalid bytes and invisible or direction-changing characters
// become escapes (\x1b, \u202e), so that a file name can neither command the terminal nor hide. All other functions
// want its result.
std::string cleaned(std::string_view untrusted);

// Columns on a terminal. Characters whose width differs between terminals count as the wider, so nothing overflows.
std::size_t display_width(std::string_view text);

// At most `width` columns. What is left out, in the middle or at the end, becomes "...".
std::string shortened_middle(std::string_view text, std::size_t width);
std::string shortened_end(std::string_view text, std::size_t width);

// Lines of at most `width` (>= 1) columns, broken at spaces where there are any. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace turnpike::report
