// Where a reader puts the records of each process that it finds in a file.
#pragma once

#include <functional>

#include "trace/record_sink.h"

namespace turnpike::ingest {

// Gives the sink that takes the records of one more process; valid until the read ends. Called once for each process,
// in the order of the processes that the read returns.
using SinkOfProcess = std::function<trace::RecordSink&()>;

}  // namespace turnpike::ingest
