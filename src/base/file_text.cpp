#include "base/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/own_descriptor.h"

namespace turnpike {

std::string file_text(const std::string& path) {
  OwnDescriptor file = OwnDescriptor::open(path.c_str(), O_RDONLY);
  if (!file.is_open()) return {};
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t count = ::read(file.number(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  file.close();
  return text;
}

std::string first_line_of(const std::string& path) {
  std::string text = file_text(path);
  return text.erase(std::min(text.find('\n'), text.size()));
}

}  // namespace turnpike
