// The sites of a report that a pattern (base/site_pattern.h) names.
#pragma once

#include <string_view>

#include "analyze/compare/figures.h"
#include "base/site_pattern.h"

namespace turnpike::analyze {

// As matches_place; FILE is a native function where there is no file. Work of a backward pass without any Python is at
// its forward line.
bool matches_site(std::string_view pattern, const Item& item);
// The same for a place that is only known by its name, "train.py:23": such as those of findings.
bool matches_site(std::string_view pattern, std::string_view site);

}  // namespace turnpike::analyze
