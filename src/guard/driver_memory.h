// What memory an address is, as the driver knows it: for whoever does not know which runtime made a call.
#pragma once

#include <cstdint>

#include "guard/copy.h"

namespace turnpike::guard {

// Pageable memory of the host where the driver does not know the address. Answers inside of CUPTI's callbacks, too.
Memory driver_memory_at(std::uint64_t address) noexcept;

// Which GPU an address is of; -1: unknown.
int device_of(const void* address) noexcept;

}  // namespace turnpike::guard
