// Which way a copy goes, and what the memory on its two sides is called.
#pragma once

#include <optional>
#include <string>

#include "analyze/report.h"
#include "trace/format.h"

namespace turnpike::analyze {

// A copy between two devices that are known and differ is a peer copy, whatever CUPTI calls it; arrays count as the
// device that they are on. nullopt: CUPTI named neither the kind of the copy nor enough of its memory.
std::optional<Direction> direction_of(const trace::MemcpyRecord& copy);

// Migrations of managed memory count as transfers with memory kind "managed" on both sides: a move between two devices
// as a peer copy. nullopt for a fault, which moves nothing by itself.
std::optional<Direction> direction_of(trace::MigrationKind kind);

// pageable, pinned, device, ...; nullopt when unknown.
std::optional<std::string> name_of(trace::MemoryKind kind);

}  // namespace turnpike::analyze
