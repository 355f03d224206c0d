// The text of small files, such as the system's.
#pragma once

#include <string>

namespace turnpike {

// All of it, or what can be read of it: empty if there is no such file. May be called in other people's processes.
std::string file_text(const std::string& path);

// Its first line, without the end of the line.
std::string first_line_of(const std::string& path);

}  // namespace turnpike
