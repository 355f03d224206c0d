// The end of CUPTI's work in this process, until somebody calls it again.
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
// CUPTI 13.0.85 then corrupted memory. Waits for all GPU work. The next call of CUPTI attaches it again. NVIDIA
// requires cuptiFinalize to be called at the exit of a CUDA call, so this makes a harmless one. One thread at a time.
Detached detach_cupti(const Cupti& cupti, const Driver& driver);

}  // namespace turnpike::cuda
