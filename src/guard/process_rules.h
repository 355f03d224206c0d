// The rules around a whole process, which `turnpike guard` passes on in the environment.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::guard {

inline constexpr const char* kRulesVariable = "TURNPIKE_GUARD";
// A file to which a process adds a line for each place that it logs or could not raise at, and one of kAllowedBy and
// the text of an allowance that allowed something.
inline constexpr const char* kLogVariable = "TURNPIKE_GUARD_LOG";
inline constexpr std::string_view kAllowedBy = "allowed by ";
// Further lines: a process with PyTorch is guarded; a process uses CUDA without PyTorch; a forbidden call happened,
// because no exception could leave it.
inline constexpr std::string_view kChecks = "checks";
inline constexpr std::string_view kSeesNoTorch = "sees no PyTorch";
inline constexpr std::string_view kNotStopped = "not stopped";

// Adds a line to the command's log, if the command is still there.
void add_to_log(std::string_view line, std::string_view more = {}) noexcept;

// Says a line on standard error, and adds it to the log. For the first time of what is logged.
void say_for_process(const std::string& line) noexcept;

// Enters them, once; at exit says how often what was logged happened. Rules that cannot be read are said, and nothing
// is guarded.
void enter_process_rules() noexcept;

}  // namespace turnpike::guard
