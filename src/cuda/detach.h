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

// CUPTI gives up all it has in the process and its hold on the driver: subscribers, kinds, attributes, buffers, ids.
// Nobody may be subscribed, no kind may be on, and everything must have been flushed. No other thread may call CUDA or
// CUPTI meanwhile: with CUPTI 13.0.85 that has destroyed memory. It waits until the GPUs have done all they were given.
// The next call of CUPTI attaches it anew. NVIDIA has this done at the end of a call of CUDA, so this makes one that
// does nothing. One thread at a time.
Detached detach_cupti(const Cupti& cupti, const Driver& driver);

}  // namespace turnpike::cuda
