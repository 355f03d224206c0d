// Files in the user's cache folder: what was measured on this machine and can be measured again.
#pragma once

#include <string>

#include "base/result.h"

namespace turnpike {

// $XDG_CACHE_HOME/turnpike/NAME, else ~/.cache/turnpike/NAME. "" where neither variable is set.
std::string cache_path(const std::string& name);

// Makes the folder, and writes the file whole or not at all.
Status write_cache_file(const std::string& path, const std::string& text);

}  // namespace turnpike
