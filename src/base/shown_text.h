// What outputs for people show of names, which files may make as long as they like.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace turnpike {

// Nobody reads more of a name; the longest names of kernels that we have seen have 1,500 bytes.
inline constexpr std::size_t kMaxShownBytes = 2000;

// `text` itself, or its start and its end with its length between them: at most kMaxShownBytes. Characters of UTF-8
// stay whole.
std::string shown(std::string_view text);

}  // namespace turnpike
