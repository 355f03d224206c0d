// How pictures and bars of the document tell apart what is waited for, without colour.
#pragma once

#include <set>
#include <string>

#include "report/html/format.h"

namespace turnpike::report::html {

// The fill of a class of waiting; "" for what is no waiting. Causes of idle time have a pattern each; a CPU that waits
// has that of a copy that holds it.
const char* wait_fill(Class event_class);

// The definitions that these fills, and those of pageable copies, refer to.
std::string pattern_definitions();

// A sample of each of these classes with its words.
std::string wait_legend(const std::set<Class>& classes);

}  // namespace turnpike::report::html
