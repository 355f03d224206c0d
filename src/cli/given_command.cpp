#include "cli/given_command.h"

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "cli/message.h"

namespace turnpike::cli {
namespace {

// As shells say it.
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

}  // namespace

bool runs_a_command(const char* subcommand) {
  return std::strcmp(subcommand, "record") == 0 || std::strcmp(subcommand, "guard") == 0;
}

std::vector<std::string> take_given_command(int& argc, char** argv) {
  if (argc < 2 || !runs_a_command(argv[1])) return {};
  for (int at = 2; at < argc; ++at) {
    if (std::strcmp(argv[at], "--") != 0) continue;
    std::vector<std::string> command(argv + at + 1, argv + argc);
    argc = at;
    return command;
  }
  return {};
}

Status check_command(Command app, const std::vector<std::string>& command) {
  const std::string name = "turnpike " + app.name();
  const auto strays = app.remaining();
  if (!strays.empty() && strays.front().starts_with("-")) {
    return Error{"there is no option " + strays.front() + " (" + name + " --help lists them; COMMAND's go behind --)"};
  }
  if (!strays.empty() || command.empty()) {
    return Error{"put the command to run behind --, as in: " + name + " -- " +
                 (strays.empty() ? "python train.py" : joined(strays, " "))};
  }
  return {};
}

int start_failure(const char* speaker, const std::vector<std::string>& command, int code) {
  if (code == ENOENT) return fail(speaker, command.front() + ": command not found", kNotFound);
  return fail(speaker, command.front() + ": cannot be executed: " + std::strerror(code), kCannotExecute);
}

}  // namespace turnpike::cli
