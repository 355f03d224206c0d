// What memory an address is, as the driver knows it.
#pragma once

#include "guard/copy.h"

namespace turnpike::guard {

// kDevice: and of which GPU it is, which costs something more.
enum class Question { kKind, kDevice };

// Pageable memory of the host where the driver does not know the address. False: this process has no driver yet, or it
// does not answer. Answers inside of CUPTI's callbacks, too.
bool ask_driver(const void* address, Question question, Memory& memory) noexcept;

// Whether the process has initialised the driver, and found a GPU. Initialises nothing.
bool is_cuda_used() noexcept;

}  // namespace turnpike::guard
