// The subcommands of `turnpike`: each function adds one. When its subcommand was called, `status` is left with the exit
// code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace turnpike::cli {

// kFailed: the input was fine, and something else was not, e.g. the output could not be written.
enum ExitCode : int { kFine = 0, kCheckFailed = 1, kUsage = 2, kUnreadableInput = 3, kFailed = 4 };

// `command`: what stands behind "--" (given_command.h).
void add_record(CLI::App& app, int& status, std::vector<std::string> command);
void add_attach(CLI::App& app, int& status);
void add_guard(CLI::App& app, int& status, std::vector<std::string> command);
void add_report(CLI::App& app, int& status);
void add_view(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_rollup(CLI::App& app, int& status);
void add_fleet(CLI::App& app, int& status);
void add_dump(CLI::App& app, int& status);
void add_whatif(CLI::App& app, int& status);
void add_top(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);

}  // namespace turnpike::cli
