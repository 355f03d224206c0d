// Finds samples of the stretch, and those near a moment.
#pragma once

#include <cstdint>
#include <span>

#include "analyze/rules/rule.h"
#include "trace/format.h"

namespace turnpike::analyze {

// Samples are a millisecond apart; one farther than this is of something else.
inline constexpr std::int64_t kNearNs = 5'000'000;

// `samples`: by thread, then time. nullptr: none is near.
const trace::SampleRecord* nearest_sample(std::span<const trace::SampleRecord> samples, std::uint32_t thread,
                                          std::int64_t time_ns);

// Whether a sample was taken in the stretch of the graph.
bool is_in_stretch(const ProcessModel& model, const trace::SampleRecord& sample);

}  // namespace turnpike::analyze
