// turnpike report
#include "cli/commands.h"

namespace turnpike::cli {
void add_report(CLI::App&, int&) {}
}  // namespace turnpike::cli
