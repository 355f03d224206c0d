// What the commands say on standard error.
#pragma once

#include <string>

namespace turnpike::cli {

// `text` with what a terminal would obey written as escapes; it keeps its lines.
std::string printable(const std::string& text);

// "turnpike report: MESSAGE", printable.
void say(const std::string& command, const std::string& message);

// Says it, too, and returns `code`, the command's exit code.
int fail(const std::string& command, const std::string& message, int code);

}  // namespace turnpike::cli
