// The end of CUPTI's work in this process, until somebody calls it again, and the wait before it.
#pragma once

#include <cstdint>

#include "cuda/cupti.h"
#include "cuda/driver.h"

namespace turnpike::cuda {

enum class Detached : std::uint8_t {
  kYes,
  kNotYet,       // CUDA is not initialised, or CUPTI refused
  kHeldByOther,  // somebody else is its subscriber
};

// Removes CUPTI from the process: its subscribers, activity kinds, attributes, buffers and ids are gone. The caller
// must have unsubscribed, disabled all kinds and flushed. No other thread may call CUDA or CUPTI meanwhile;
// CUPTI 13.0.85 then corrupted memory. Waits for all GPU work: see wait_for_gpus. The next call of CUPTI attaches it
// again. NVIDIA requires cuptiFinalize to be called at the exit of a CUDA call, so this makes a harmless one. One
// thread at a time.
Detached detach_cupti(const Cupti& cupti, const Driver& driver);

// Waits, `patience_ns` at most, until the work is done that was queued in the primary contexts of all GPUs. False: it
// is not, or nobody knows. Would break the capture of a CUDA graph. Other contexts cannot be found.
bool wait_for_gpus(const Driver& driver, std::int64_t patience_ns);

}  // namespace turnpike::cuda
