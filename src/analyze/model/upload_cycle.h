// Steps that upload many pieces each, one after the other: the layers of a model that live in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// A place that sends up the same buffers again and again, in the same order.
struct UploadCycle {
  std::size_t length = 1;  // in uploads: so many of them are a step
  std::size_t first = 0;   // the upload that begins a step
};

// `uploads`: calls of one place, rising; kNone where a call is not known. A length of 1: each is a step of its own, or
// that cannot be told apart. That the buffers recur says little, as a loader fills the same ones in turn, too. But work
// that comes between the uploads once in each round, and not at each of them, is what begins or ends a step.
// `least_rounds`: so many have to be seen.
UploadCycle upload_cycle_of(const Timeline& timeline, std::span<const std::uint32_t> uploads, std::size_t least_rounds);

}  // namespace turnpike::analyze
