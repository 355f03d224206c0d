// What a call is for, by its name: one table for the recorder and for the files of other tools.
#pragma once

#include <string_view>

#include "trace/format.h"

namespace turnpike::trace {

// Of a call of CUDA, of HIP (AMD) or of Level Zero, Unified Runtime and SYCL (Intel), so that functions of later
// versions fall into their kind without a change here. kOther when the name does not tell.
CallKind call_kind_of(std::string_view name) noexcept;

// Whether the call returns before its copy is done, as far as its name says.
bool names_async_copy(std::string_view name) noexcept;

}  // namespace turnpike::trace
