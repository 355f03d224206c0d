// How much memory the process took while it was recorded, when, and by which lines.
#pragma once

#include <cstdint>
#include <optional>

#include "analyze/model/stacks.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// nullopt when the recording holds neither samples of the process's memory nor a single allocation. What was allocated
// before the recording, or by calls that failed, is no part of it.
std::optional<MemoryUse> memory_use_of(const Timeline& timeline, Stacks& stacks, std::int64_t span_start_ns);

// The most that was taken from one device at a time, of what was allocated while recording; nullopt when no allocation
// on it was recorded, or one of which the device is not known.
std::optional<std::uint64_t> peak_device_bytes_of(const Timeline& timeline, std::uint32_t device);

}  // namespace turnpike::analyze
