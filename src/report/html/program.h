// The page's own program and style, as web/dist had them when Turnpike was built.
#pragma once

#include <string_view>

namespace turnpike::report::html {

std::string_view page_script();
std::string_view page_style();

}  // namespace turnpike::report::html
