// Copies that stand beside each other in the program, so that they could cross as one.
#pragma once

#include <cstdint>

#include "analyze/graph/process_model.h"

namespace turnpike::analyze {

// Larger copies take as long to cross as to be issued: packing gains little.
inline constexpr std::uint64_t kSmallCopyBytes = 256u << 10;

// Whether `call` copies in this direction and nothing else, and only little.
bool is_small_copy(const ProcessModel& model, std::uint32_t call, Direction direction);

// Whether `b`, a later call of the same thread and step, is at a line of the same function as `a`, with nothing between
// them that asked a device for work.
bool follows_directly(const ProcessModel& model, std::uint32_t a, std::uint32_t b);

}  // namespace turnpike::analyze
