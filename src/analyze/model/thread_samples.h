// Finds samples by thread and time.
#pragma once

#include <cstdint>
#include <span>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "trace/format.h"

namespace turnpike::analyze {

// The first sample at or after a time of a thread. `samples`: by thread, then time.
std::span<const trace::SampleRecord>::iterator first_sample_from(std::span<const trace::SampleRecord> samples,
                                                                 std::uint32_t thread, std::int64_t time_ns);

// The samples of a thread in a part of time; none where that ends before it starts.
std::span<const trace::SampleRecord> samples_in(const Timeline& timeline, std::uint32_t thread, const Interval& time);

}  // namespace turnpike::analyze
