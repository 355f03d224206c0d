// The lines of Python that samples found a thread at, as stretches of time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/stacks.h"
#include "analyze/model/timeline.h"

namespace turnpike::report::html {

struct PythonStretch {
  analyze::Interval time;
  std::uint32_t facts;  // of its first sample
};

// By thread, in the order of time. A sample stands for the time to the next one; where that is missing, as inside of
// calls, for the usual distance of the thread's samples. Neighbours at one line are one stretch. Samples outside of
// `span`, and those that know no file of Python, are left out.
std::map<std::uint32_t, std::vector<PythonStretch>> python_stretches(const analyze::Timeline& timeline,
                                                                     analyze::Stacks& stacks,
                                                                     const analyze::Interval& span);

}  // namespace turnpike::report::html
