// turnpike record
#include "cli/commands.h"

namespace turnpike::cli {
void add_record(CLI::App&, int&) {}
}  // namespace turnpike::cli
