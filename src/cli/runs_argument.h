// The argument RUN of the subcommands that read a run of any kind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace turnpike::cli {

// One or several; required unless `is_optional`.
void add_runs_argument(Command command, std::vector<std::filesystem::path>& runs, bool is_optional = false);

// What CLI11 shall say of an argument, "" when it is fine: that it is empty, where a file is to be named;
std::string check_is_named(const std::string& text);
// that it is no whole number from 0 on.
std::string check_is_count(const std::string& text);

}  // namespace turnpike::cli
