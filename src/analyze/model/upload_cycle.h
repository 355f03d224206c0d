// Steps that upload many pieces each, one after the other: the layers of a model that live in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// A place that sends up the same buffers again and again, in the same order.
struct UploadCycle {
  std::size_t length = 1;  // uploads per step
  std::size_t first = 0;   // the upload that begins a step
};

// `uploads`: calls of one site in rising order; kNone if unknown. Length 1 means that each upload is a step, or that
// rounds cannot be recognised. Recurring buffers are not enough: a loader reuses buffers too. A round needs extra
// launches at one point. `least_rounds`: minimum number of rounds that must be seen.
UploadCycle upload_cycle_of(const Timeline& timeline, std::span<const std::uint32_t> uploads, std::size_t least_rounds);

}  // namespace turnpike::analyze
