// Threads that hand work to each other through a queue, a future or a lock: which call of one let another one go on.
//
// Nothing in a recording names the queue. So a hand-over needs evidence, and where there is none, none is assumed:
// either samples show the thread in a wait of Python's `threading`, by which queues, futures and conditions wait, or
// its work is put behind a copy of the other thread each time.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/graph/draft.h"

namespace turnpike::analyze {

struct ThreadHandover {
  std::uint32_t from = kNone;  // the call of another thread behind which this one went on; kNone: none
  std::int64_t own_ns = 0;     // what the thread itself did since its own last call
};

// By call. `previous_call`: as Graph's.
std::vector<ThreadHandover> find_thread_handovers(const Draft& draft);

}  // namespace turnpike::analyze
