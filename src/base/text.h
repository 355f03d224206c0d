// Small changes to text that many outputs make.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace turnpike {

std::string joined(std::span<const std::string> parts, std::string_view separator);

// In per cent form, byte by byte: all that `is_plain` does not let through.
std::string percent_escaped(std::string_view text, bool (*is_plain)(char letter));

}  // namespace turnpike
