// The options of the recorder on the command line, from the table of record/options.
#pragma once

#include "cli/command_line.h"
#include "record/options.h"

namespace turnpike::cli {

// Adds `option` to `app`; what is given goes into `options`, which outlives the parsing.
void add_recorder_option(Command app, const record::Option& option, record::Options& options);

}  // namespace turnpike::cli
