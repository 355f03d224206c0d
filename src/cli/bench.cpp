// turnpike bench
#include "cli/commands.h"

namespace turnpike::cli {
void add_bench(CLI::App&, int&) {}
}  // namespace turnpike::cli
