// turnpike fleet runs in Python, which has DuckDB: here stands where to find it.
#include "cli/commands.h"
#include "cli/message.h"

namespace turnpike::cli {

void add_fleet(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("fleet", "Compare the ranks of large jobs (needs Python)");
  command.prefix_command();
  command.footer(
      "Runs in Python: `pip install 'turnpike-gpu[fleet]'`; `python -m turnpike fleet --help` explains its options:\n"
      "--json, --workers, --by, --html, --parquet, --check, --engine, --ray-address.\n\n"
      "Exit code: 0, 1 a limit of the budget is exceeded, 2 wrong usage or a bad budget, 3 a run cannot be read (the\n"
      "others are compared), 4 DuckDB or Ray is missing or the output cannot be written.");
  command.callback([&status] {
    status = fail("turnpike fleet",
                  "this program has no Python. Run `python -m turnpike fleet` with the Python in which "
                  "'turnpike-gpu[fleet]' is installed.",
                  kFailed);
  });
}

}  // namespace turnpike::cli
