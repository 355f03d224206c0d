// The command `turnpike`: puts the subcommands together.
#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"turnpike"};
  int status = 0;
  turnpike::cli::add_record(app, status, turnpike::cli::take_recorded_command(argc, argv));
  turnpike::cli::add_report(app, status);
  turnpike::cli::add_export(app, status);
  turnpike::cli::add_dump(app, status);
  turnpike::cli::add_bench(app, status);
  CLI11_PARSE(app, argc, argv);
  return status;
}
