// turnpike dump
#include "cli/commands.h"

namespace turnpike::cli {
void add_dump(CLI::App&, int&) {}
}  // namespace turnpike::cli
