// What memory an address is, as the driver knows it.
#pragma once

#include "guard/copy.h"

namespace turnpike::guard {

// kDevice: and of which GPU it is, which costs something more.
enum class Question { kKind, kDevice };

// Looks for the driver, without the loader's lock: for a caller that has just heard from it, so that it is loaded
// completely. The runtime loads it late.
void find_driver() noexcept;

// Pageable memory of the host where the driver does not know the address. False: no driver was found yet, or it does
// not answer. Answers inside of CUPTI's callbacks, too.
bool ask_driver(const void* address, Question question, Memory& memory) noexcept;

}  // namespace turnpike::guard
