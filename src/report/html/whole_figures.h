// Figures of the document that no line break parts from their unit.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::report::html {

// Puts a no-break space between each figure and its unit ("15.9 ms", "72 %"). Tags, code and styles stay as they are.
std::string with_whole_figures(std::string_view html);

}  // namespace turnpike::report::html
