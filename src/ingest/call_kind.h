// What a call is for, by its name: the files of other tools say no more of it.
#pragma once

#include <string_view>

#include "trace/format.h"

namespace turnpike::ingest {

// What a call of CUDA, of HIP (AMD) or of Level Zero, Unified Runtime and SYCL (Intel) is for; kOther when the name
// does not tell.
trace::CallKind call_kind_of(std::string_view name);

// Whether the call returns before its copy is done as far as its name says: the trace has no flag for it.
bool names_async_copy(std::string_view name);

}  // namespace turnpike::ingest
