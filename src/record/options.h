// What is to be recorded, from the environment of an injected process or from a call of turnpike_start.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike::record {

enum class Detail { kTransfers, kFull };
enum class CaptureRange { kWholeRun, kCudaProfilerApi, kNvtx };

struct Options {
  std::string run_directory;  // empty: nothing is to be recorded
  Detail detail = Detail::kFull;
  bool has_stacks = true;
  CaptureRange capture_range = CaptureRange::kWholeRun;
  std::string nvtx_range;  // the name of the range to record, for CaptureRange::kNvtx
  std::int64_t delay_ns = 0;
  std::int64_t duration_ns = 0;      // 0: until the end
  bool is_content_verified = false;  // hash every byte of host buffers instead of a sample
  bool is_quiet = false;
  bool has_note = true;  // leave a file that says why this process could not be recorded
};

// From the TURNPIKE_ variables of session.h. Values that mean nothing are taken as if they were not set: the command
// line has checked them before.
Options options_from_environment();

const char* name_of(Detail detail) noexcept;

}  // namespace turnpike::record
