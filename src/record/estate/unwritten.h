// What a process that died had not written to its file.
#pragma once

#include <cstddef>

#include "record/session.h"

namespace turnpike::record {

// Appends it, with an end, to the file that the estate at `base` names, and adds it to `added`. A file that is not that
// one any more is left alone.
void write_unwritten(std::byte* base, TurnpikeStatus& added);

}  // namespace turnpike::record
