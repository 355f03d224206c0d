// Text from a trace, made safe to print: one line, valid UTF-8, nothing that a terminal would obey.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::report {

// `text` in double quotes. Written as \xNN, byte by byte: what is not valid UTF-8, and every character that is_harmless
// (base/utf8.h) does not pass. Quotes and backslashes get a backslash.
std::string quoted(std::string_view text);

}  // namespace turnpike::report
