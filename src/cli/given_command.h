// The command behind "--" that `turnpike record` and `turnpike guard` run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"

namespace turnpike::cli {

// Whether a subcommand of this name runs a command.
bool runs_a_command(const char* subcommand);

// Cuts what stands behind the first "--" of such a subcommand off the arguments, before CLI11 sees them: it would take
// words of the command for its own. {} for other subcommands.
std::vector<std::string> take_given_command(int& argc, char** argv);

// An Error unless the command was given and nothing stands before "--" that is not an option.
Status check_command(Command app, const std::vector<std::string>& command);

// Says why the command could not be started (errno of exec), and gives the exit code for it.
int start_failure(const char* speaker, const std::vector<std::string>& command, int code);

}  // namespace turnpike::cli
