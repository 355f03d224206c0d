// Steps that upload many pieces each, one after the other: the layers of a model that live in host memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyze/model/timeline.h"
#include "analyze/report.h"

namespace turnpike::analyze {

inline UploadCycle::Piece piece_of(const Call& upload) {
  return {upload.src, upload.bytes};
}

// `uploads`: calls of one site in rising order; kNone if unknown. nullopt: each upload is a step, or rounds cannot be
// recognised, which takes three of them. Recurring pieces are not enough: a loader reuses buffers too. A round needs
// extra launches at one point.
std::optional<UploadCycle> upload_cycle_of(const Timeline& timeline, std::span<const std::uint32_t> uploads);

}  // namespace turnpike::analyze
