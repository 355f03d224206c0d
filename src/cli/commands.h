// The subcommands of `turnpike`: each function adds one. When its subcommand was called, `status` is left with the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace turnpike::cli {

enum ExitCode : int { kFine = 0, kCheckFailed = 1, kUsage = 2, kUnreadableInput = 3 };

void add_record(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_dump(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);

}  // namespace turnpike::cli
