// Divides the time of a step by what the GPU does in it. The parts add up to the step.
#pragma once

#include <optional>
#include <vector>

#include "analyze/report.h"

namespace turnpike::analyze {

// What a part of the time is.
enum class TimeUse : std::uint8_t {
  kComputing,    // the GPU runs kernels, copies inside the GPU or memsets
  kCollectives,  // only collectives run
  kWithout       // no kernel runs, for a cause
};

struct TimePart {
  TimeUse use = TimeUse::kComputing;
  std::optional<IdleCause> cause{};  // of kWithout; nullopt where the causes are not known
  double pct = 0;                    // of a step; of the whole run where it has no steps
  // Where that time was spent, most first: rows of the report whose place is known. Empty if that is less than half.
  std::vector<const IdleSite*> sites{};
};

// In a fixed order: computing first, then the causes in that of the report. Parts that would be shown as 0.0 % are left
// out. Empty: it is not known what the GPU did. The report must outlive the parts.
std::vector<TimePart> parts_of_time(const Report& report);

}  // namespace turnpike::analyze
