// The rings of this test process: a thread keeps the one it got first, so all tests that push on one share their owner.
#pragma once

#include "record/handover/loss_counters.h"
#include "record/handover/thread_handover.h"

namespace turnpike::record {

struct OneHandover {
  LossCounters losses;
  ThreadHandover handover{losses};
};

inline OneHandover& one_handover() {
  static auto& made = *new OneHandover;
  return made;
}

}  // namespace turnpike::record
