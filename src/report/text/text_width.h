// Text as a terminal shows it: its width in columns, and what fits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/cleaned_text.h"

namespace turnpike::report {

// All functions want text that is cleaned (base/cleaned_text.h).
//
// Columns on a terminal. Characters whose width differs between terminals count as the wider, so nothing overflows.
std::size_t display_width(std::string_view text);

// At most `width` columns. What is left out, at the start, in the middle or at the end, becomes "...".
std::string shortened_start(std::string_view text, std::size_t width);
std::string shortened_middle(std::string_view text, std::size_t width);
std::string shortened_end(std::string_view text, std::size_t width);
// The same for the start of a longer text: it ends with "..." in any case.
std::string cut_off(std::string_view text, std::size_t width);

// Lines of at most `width` (>= 1) columns, broken at spaces where there are any. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace turnpike::report
