// What standard output and standard error lead to.
#pragma once

#include <cstddef>

namespace turnpike::cli {

// The widest text that a command writes.
constexpr std::size_t kPageWidth = 100;

// Columns a text may take on `descriptor`: those of the terminal, at most `most`; `most` where it is no terminal.
std::size_t usable_width(int descriptor, std::size_t most);

// Whether colour belongs there: a terminal, and neither NO_COLOR (no-color.org) nor TERM=dumb in the environment.
bool has_colour(int descriptor);

bool is_terminal(int descriptor);

// Whether a terminal, where there is one, does more than print lines: TERM is neither unset nor dumb.
bool can_move_cursor();

}  // namespace turnpike::cli
