// Patterns that name places of a program: FILE, FILE:LINE or FILE:FUNCTION.
#pragma once

#include <string_view>

namespace turnpike {

// Whether `text` is what `pattern` says as a whole: `*` is any number of characters, folders included, `?` is one. No
// other character is special. O(pattern x text) at worst.
bool matches_glob(std::string_view pattern, std::string_view text);

// What stands before and after the last single colon. C++ names are full of "::", which does not count.
struct SiteParts {
  std::string_view file;
  std::string_view rest;  // a line or a function; empty: any
};
SiteParts split_site(std::string_view text);

// FILE is the path, or its last parts ("train.py", "src/train.py"). FUNCTION is with its class ("Net.forward") or
// without. `line` is a number, empty where it is unknown.
bool matches_place(std::string_view pattern, std::string_view path, std::string_view line, std::string_view function);

}  // namespace turnpike
