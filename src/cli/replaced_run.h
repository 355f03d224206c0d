// Puts a new recording into the place of an old one.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace turnpike::cli {

// An Error unless `run` is a directory, no link to one, that holds trace files of ours and nothing else. Empty files
// count as ours when they are named so: their process ended before it wrote anything.
Status check_is_replaceable(const std::filesystem::path& run);

// Gives the directory `fresh` the name of `old`, beside it, and removes the old one. `old` is looked at again first:
// after an Error both are as they were.
Status replace_run(const std::filesystem::path& old, const std::filesystem::path& fresh);

}  // namespace turnpike::cli
