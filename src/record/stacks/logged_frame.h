// A frame as the table of stacks keeps it, in memory that another process may read.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace turnpike::record {

struct LoggedFrame {
  trace::FrameEntry entry;      // of a native frame, `function` is filled in when it is drained
  std::uint64_t segments_hash;  // of its module, to tell builds apart (ModuleSymbols)
  std::uint32_t is_unnamed;     // 1: a native frame of a module, whose name was not looked up yet
  std::uint32_t reserved;
};
static_assert(sizeof(LoggedFrame) == 48);

}  // namespace turnpike::record
