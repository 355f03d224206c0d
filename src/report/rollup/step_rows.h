// The steps of a process as rows of a roll-up, part by part of its time.
#pragma once

#include <cstdint>
#include <optional>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/sums/process_analysis.h"
#include "report/rollup/sums.h"
#include "trace/process.h"

namespace turnpike::report::rollup {

std::int64_t minute_of(std::int64_t time_ns);

struct Part {
  analyze::Interval time;
  bool is_last;
};

// A step may begin in one part and end in a later one.
class StepRows {
 public:
  // `part`: of the time, each from where the one before ended. The timeline also has what lies around it.
  void add(const analyze::ProcessAnalysis& analysis, const trace::Process& process, const analyze::Timeline& timeline,
           const Part& part, Tables& tables);
  // The steps of the last part that had any; nullptr: there were none.
  const analyze::Steps* found() const { return found_ ? &*found_ : nullptr; }

 private:
  struct Step {
    std::int64_t start_ns;
    std::int64_t collective_ns = 0;
    std::int64_t kernel_ns = 0;
    std::int64_t kernel_count = 0;
    std::int64_t collective_count = 0;
    std::int64_t peer_count = 0;
    bool are_kernels_known = true;
  };

  void close(std::int64_t end_ns, Tables& tables);

  std::optional<analyze::Steps> found_;
  std::optional<Step> open_;
};

}  // namespace turnpike::report::rollup
