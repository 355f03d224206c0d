// Keeps a command from writing over what it reads.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// An Error when `output` ("-": standard output), a file or a folder, is one of `inputs` or lies inside one that is a
// folder: there it would be taken for a part of the run. Told by the file and not by its name: links, hard and
// symbolic, are the file that they lead to.
Status check_is_no_input(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

}  // namespace turnpike::cli
