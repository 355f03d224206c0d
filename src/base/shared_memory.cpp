// Looks at the link in /proc before it is opened: to open a stranger's pipe or device can have effects.
#include "base/shared_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace turnpike {
namespace {

bool is_named(const char* link, std::string_view name) noexcept {
  constexpr std::string_view kMemfd = "/memfd:";
  std::array<char, 128> target;
  const ssize_t length = readlink(link, target.data(), target.size());
  if (length < 0) return false;
  std::string_view text(target.data(), static_cast<std::size_t>(length));
  if (!text.starts_with(kMemfd)) return false;
  text.remove_prefix(kMemfd.size());
  return text.starts_with(name) && text.substr(name.size()) == " (deleted)";
}

}  // namespace

int open_shared_memory(const char* path, const char* name, int flags) noexcept {
  if (std::string_view(path).starts_with("/proc/") && !is_named(path, name)) {
    errno = ENOENT;
    return -1;
  }
  return open(path, flags | O_CLOEXEC);
}

}  // namespace turnpike
