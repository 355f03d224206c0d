// The subcommands of `turnpike`: each function adds one. When its subcommand was called, `status` is left with the exit
// code.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace turnpike::cli {

// kFailed: the input was fine, and something else was not, e.g. the output could not be written.
enum ExitCode : int { kFine = 0, kCheckFailed = 1, kUsage = 2, kUnreadableInput = 3, kFailed = 4 };

// `command`: what stands behind "--" (given_command.h).
void add_record(Command turnpike, int& status, std::vector<std::string> command);
void add_attach(Command turnpike, int& status);
void add_guard(Command turnpike, int& status, std::vector<std::string> command);
void add_report(Command turnpike, int& status);
void add_view(Command turnpike, int& status);
void add_check(Command turnpike, int& status);
void add_diff(Command turnpike, int& status);
void add_export(Command turnpike, int& status);
void add_rollup(Command turnpike, int& status);
void add_fleet(Command turnpike, int& status);
void add_dump(Command turnpike, int& status);
void add_whatif(Command turnpike, int& status);
void add_top(Command turnpike, int& status);
void add_bench(Command turnpike, int& status);

}  // namespace turnpike::cli
