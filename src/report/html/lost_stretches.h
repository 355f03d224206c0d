// When a recording lost records, as far as what it still holds tells.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::report::html {

struct LostStretch {
  analyze::Interval time;
  std::uint64_t count;  // records that are missing in it; there may be more
};

struct LostKernels {
  LostStretch stretch;
  std::uint32_t device;
  std::uint32_t stream;
};

struct LostCalls {
  LostStretch stretch;
  std::uint32_t thread;
};

struct LostRecords {
  // Between the kernels of two launches, where launches have none. Only of kernels whose stream a neighbour tells.
  std::vector<LostKernels> kernels;
  // Calls for copies whose record from the GPU never came, as indices. The copy began after its call did.
  std::vector<std::uint32_t> copy_calls;
  // Between two calls of a thread, where device work names a call that is missing.
  std::vector<LostCalls> calls;
  // The process lost records of which nothing tells the time.
  bool has_untimed = false;
};

LostRecords find_lost(const trace::Process& process, const analyze::Timeline& timeline, bool are_kernels_recorded);

}  // namespace turnpike::report::html
