// The argument RUN of the subcommands that read a run of any kind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"

namespace turnpike::cli {

// One or several, or none: then runs_or_newest() has the newest.
void add_runs_argument(Command command, std::vector<std::filesystem::path>& runs);

// `runs`; where none is given the newest run in the working directory, which is said as a message of `command`
// ("turnpike report"). Fails when there is none.
Result<std::vector<std::filesystem::path>> runs_or_newest(const std::vector<std::filesystem::path>& runs,
                                                          const char* command);

// --strict, for a command that ends with exit_code_of() (open_run.h).
void add_strict_option(Command command, bool& is_strict);

// What CLI11 shall say of an argument, "" when it is fine: that it is empty, where a file is to be named;
std::string check_is_named(const std::string& text);
// that it is no whole number from 0 on.
std::string check_is_count(const std::string& text);

}  // namespace turnpike::cli
