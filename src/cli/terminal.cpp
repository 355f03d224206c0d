#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace turnpike::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_terminal(int descriptor) {
  return isatty(descriptor) != 0;
}

std::size_t usable_width(int descriptor, std::size_t most) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return most;
  return std::min<std::size_t>(size.ws_col, most);
}

bool can_move_cursor() {
  return !environment("TERM").empty() && environment("TERM") != "dumb";
}

bool has_colour(int descriptor) {
  return is_terminal(descriptor) && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

}  // namespace turnpike::cli
