// turnpike export --to csv: the tables of a run as files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyze/analyze.h"

namespace turnpike::cli {

// `table`: this one, into the file `output`; empty: all, into the folder `output`. An empty `output` is a name in the
// working directory. Tables about kernels are left out of all where a run has none, and that is said. The exit code.
int export_csv(const std::vector<std::filesystem::path>& runs, const std::string& table, const std::string& output,
               const analyze::FileReader& reader);

}  // namespace turnpike::cli
