// What the driver knows of an address.
#pragma once

#include "move/device.h"
#include "move/move.h"

namespace turnpike::move {

// Here and below the context of the device must be current.
// Whether host memory is page-locked, by whomever.
bool is_pinned(const Device& device, const void* host);
Result<DeviceRange> allocation_at(const Device& device, DeviceAddress address);

}  // namespace turnpike::move
