// Paths, names of commands and keys of files are not ours: they reach the terminal cleaned.
#include "cli/message.h"

#include <algorithm>
#include <cstdio>

#include "report/text/text_width.h"

namespace turnpike::cli {

std::string printable(const std::string& text) {
  std::string result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (start > 0) result += '\n';
    result += cleaned(std::string_view(text).substr(start, end - start));
    start = end + 1;
  }
  return result;
}

void say(const std::string& command, const std::string& message) {
  std::fputs((printable(command + ": " + message) + "\n").c_str(), stderr);
}

int fail(const std::string& command, const std::string& message, int code) {
  say(command, message);
  return code;
}

}  // namespace turnpike::cli
