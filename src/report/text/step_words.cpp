#include "report/text/step_words.h"

#include "base/units.h"

namespace turnpike::report {

std::string host_ahead_text(const analyze::Steps& steps) {
  if (!steps.is_host_ahead()) return "";
  return " on the CPU, which runs ahead; " + duration_text(steps.device_median_ns) + " on the GPU";
}

}  // namespace turnpike::report
