// Names of native functions as a person reads them.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::analyze {

// The demangled name without parameters, template arguments and return type: "Trainer::step" for
// `_ZN7Trainer4stepIfEEvi`. A symbol that is not mangled is returned as it is.
std::string short_function_name(std::string_view symbol);

// The part of a path behind the last slash.
std::string_view file_name_of(std::string_view path);

}  // namespace turnpike::analyze
