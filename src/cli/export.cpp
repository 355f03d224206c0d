// turnpike export
#include "cli/commands.h"

namespace turnpike::cli {
void add_export(CLI::App&, int&) {}
}  // namespace turnpike::cli
