#include "report/text/step_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace turnpike::report {

std::string host_ahead_text(const analyze::Steps& steps) {
  if (!steps.is_host_ahead()) return "";
  return " on the CPU, which runs ahead; " + duration_text(steps.device_median_ns) + " on the GPU";
}

std::string steps_text(const analyze::Steps& steps) {
  return fmt::format("{}, each {} (median){}, found by {}", count_text(steps.count), duration_text(steps.median_ns),
                     host_ahead_text(steps), source_text(steps));
}

const char* duration_title(const analyze::Comparison& comparison) {
  if (comparison.unit == analyze::Unit::kRun) return "the run";
  return comparison.is_device_step ? "one step on the GPU (median)" : "one step (median)";
}

}  // namespace turnpike::report
