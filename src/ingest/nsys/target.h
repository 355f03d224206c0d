// What an export says of the machine and of its processes: devices, streams, threads, the command, ranks.
#pragma once

#include "ingest/nsys/export.h"

namespace turnpike::ingest {

// Gives devices, streams and the names of threads to the sinks of the processes that there are, and fills in their
// metadata. To be called when all events have been read.
void describe_target(NsysExport& from);

}  // namespace turnpike::ingest
