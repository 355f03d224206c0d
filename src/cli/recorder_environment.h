// The environment that makes the CUDA driver load the recorder into a program, and its children.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// What the user chose; the names of record/session.h.
struct RecordOptions {
  bool has_kernels = true;  // --detail full
  bool has_stacks = true;
  bool is_content_verified = false;
  bool is_quiet = false;
  std::string capture_range;  // "": everything
  std::optional<std::uint64_t> delay_ms;
  std::optional<std::uint64_t> duration_ms;
};

// A variable to set, or, with none, to remove.
using Variable = std::pair<std::string, std::optional<std::string>>;

// libturnpike_record.so: $TURNPIKE_RECORD_LIBRARY, else beside this executable, else in ../lib/turnpike/ from there.
Result<std::filesystem::path> find_record_library();

// An Error where another tool's injection is in place: the driver loads one library only. A recorder of Turnpike's own
// gives way.
Status check_no_other_injection();

std::vector<Variable> recorder_environment(const RecordOptions& options, const std::filesystem::path& library,
                                           const std::filesystem::path& run_directory, const std::string& status_path);

}  // namespace turnpike::cli
