// The environment that makes the CUDA driver load the recorder into a program, and its children.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/options.h"

namespace turnpike::cli {

// A variable to set, or, with none, to remove.
using Variable = std::pair<std::string, std::optional<std::string>>;

// libturnpike_record.so: $TURNPIKE_RECORD_LIBRARY, else beside this executable, else in ../lib/turnpike/ from there.
Result<std::filesystem::path> find_record_library();

// libturnpike_guard.so in the same way: $TURNPIKE_GUARD_LIBRARY, or beside the executable.
Result<std::filesystem::path> find_guard_library();

// An Error where another tool's injection is in place: the driver loads one library only. A recorder of Turnpike's own
// gives way. `own` is the library that is to be loaded.
Status check_no_other_injection(const char* own);
inline constexpr const char* kRecordLibrary = "libturnpike_record.so";
inline constexpr const char* kGuardLibrary = "libturnpike_guard.so";

// What makes the driver load the guard.
std::vector<Variable> guard_environment(const std::string& rules, const std::filesystem::path& library,
                                        const std::string& log_path);

// `estates_path`: none where there are no estates.
std::vector<Variable> recorder_environment(const record::Options& options, const std::filesystem::path& library,
                                           const std::string& status_path,
                                           const std::optional<std::string>& estates_path);

// What makes a process wait for `turnpike attach`.
std::vector<Variable> dormant_environment(const std::filesystem::path& library, bool is_quiet);

}  // namespace turnpike::cli
