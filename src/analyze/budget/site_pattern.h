// Patterns that name places of a program: FILE, FILE:LINE or FILE:FUNCTION.
#pragma once

#include <string_view>

#include "analyze/compare/figures.h"

namespace turnpike::analyze {

// Whether `text` is what `pattern` says as a whole: `*` is any number of characters, folders included, `?` is one. No
// other character is special. O(pattern x text) at worst.
bool matches_glob(std::string_view pattern, std::string_view text);

// FILE is the path, or its last parts ("train.py", "src/train.py"), or a native function where there is no file.
// FUNCTION is with its class ("Net.forward") or without. Work of a backward pass without any Python is at its forward
// line.
bool matches_site(std::string_view pattern, const Item& item);
// The same for a place that is only known by its name, "train.py:23": such as those of findings.
bool matches_site(std::string_view pattern, std::string_view site);

}  // namespace turnpike::analyze
