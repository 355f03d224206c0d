// Reads the TURNPIKE_ variables.
#include "record/options.h"

#include <cstdlib>
#include <cstring>

#include "record/session.h"

namespace turnpike::record {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t milliseconds(const char* name) {
  const long long value = std::atoll(variable(name));
  return value > 0 ? value * std::int64_t{1'000'000} : 0;
}

}  // namespace

const char* name_of(Detail detail) noexcept {
  return detail == Detail::kTransfers ? "transfers" : "full";
}

Options options_from_environment() {
  Options options;
  options.run_directory = variable(TURNPIKE_ENV_RUN);
  if (std::strcmp(variable(TURNPIKE_ENV_DETAIL), "transfers") == 0) options.detail = Detail::kTransfers;
  options.has_stacks = std::strcmp(variable(TURNPIKE_ENV_STACKS), "0") != 0;
  const char* range = variable(TURNPIKE_ENV_CAPTURE_RANGE);
  if (std::strcmp(range, "cuda-profiler-api") == 0) options.capture_range = CaptureRange::kCudaProfilerApi;
  if (std::strncmp(range, "nvtx:", 5) == 0) {
    options.capture_range = CaptureRange::kNvtx;
    options.nvtx_range = range + 5;
  }
  options.delay_ns = milliseconds(TURNPIKE_ENV_DELAY_MS);
  options.duration_ns = milliseconds(TURNPIKE_ENV_DURATION_MS);
  options.is_content_verified = std::strcmp(variable(TURNPIKE_ENV_VERIFY_CONTENT), "1") == 0;
  options.is_quiet = std::strcmp(variable(TURNPIKE_ENV_QUIET), "1") == 0;
  return options;
}

}  // namespace turnpike::record
