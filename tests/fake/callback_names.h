// The names that cuptiGetCallbackName gives: those of the enumerators in CUPTI's own headers.
#pragma once

#include <cupti_callbacks.h>

#include <cstdint>

namespace turnpike::fake {

// nullptr for an id that the headers do not know.
const char* callback_name(CUpti_CallbackDomain domain, std::uint32_t id);

}  // namespace turnpike::fake
