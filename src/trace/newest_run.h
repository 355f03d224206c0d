// The run that is meant where none is named.
#pragma once

#include <filesystem>
#include <optional>

namespace turnpike::trace {

// Of the directories *.tpk in the working directory the one whose trace files were written last; nullopt: none has any.
std::optional<std::filesystem::path> newest_run_here();

}  // namespace turnpike::trace
