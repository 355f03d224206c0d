// Names of C++ functions as people write them.
#pragma once

#include <string>

namespace turnpike {

// With template arguments and parameters. A symbol that is not mangled is returned as it is.
std::string demangled(const std::string& symbol);

}  // namespace turnpike
