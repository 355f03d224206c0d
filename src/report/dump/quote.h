// Text from a trace, made safe to print: one line, valid UTF-8, nothing that a terminal would obey.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::trace {

// `text` in double quotes. Written as \xNN, byte by byte: control characters (also those beyond ASCII), what is not
// valid UTF-8, line separators, and characters that reverse the direction of text. Quotes and backslashes get a
// backslash.
std::string quoted(std::string_view text);

}  // namespace turnpike::trace
