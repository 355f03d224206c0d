// The argument RUN of the subcommands that read a run of any kind.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

namespace turnpike::cli {

// Required; one or several.
void add_runs_argument(CLI::App& command, std::vector<std::filesystem::path>& runs);

}  // namespace turnpike::cli
