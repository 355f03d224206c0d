// What a budget must not hold before the TOML parser sees it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike::analyze {

// The parser nests a table for each dot of a key, and frees them one inside of the other: without a limit a line of
// dots overflows the stack. Texts over several lines, which no budget needs, would hide where keys are. The end of a
// sentence that begins with the file; nullopt: it is fine.
std::optional<std::string> what_is_too_deep(std::string_view text);

}  // namespace turnpike::analyze
