// Activity records as CUPTI lays them in a buffer, in the version of the structures that the script asks for.
#pragma once

#include <cupti_activity.h>

#include <cstdint>
#include <vector>

#include "boundary.h"

namespace turnpike::fake {

// A kind that no header knows, and the size of its records.
inline constexpr std::uint32_t kUnknownKind = 999;
inline constexpr std::size_t kUnknownBytes = 24;

CUpti_ActivityKind activity_kind(WorkKind kind);
// The bytes from one record of this kind to the next; 0 for a kind that is never delivered.
std::size_t record_bytes(std::uint32_t kind);
void append_record(std::vector<std::uint8_t>& out, const DeviceWork& work);
void append_unknown_record(std::vector<std::uint8_t>& out);

}  // namespace turnpike::fake
