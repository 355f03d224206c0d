// What a kernel is for, told by its name.
#pragma once

#include <string_view>

#include "report/html/format.h"

namespace turnpike::report::html {

// Class::kKernel where the name says nothing. Only colours rest on it.
Class family_of(std::string_view kernel_name);

}  // namespace turnpike::report::html
