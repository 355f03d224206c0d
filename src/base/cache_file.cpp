// Where cache files lie, and how one takes the place of another.
#include "base/cache_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace turnpike {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string cache_path(const std::string& name) {
  const std::string cache = from_environment("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/turnpike/" + name;
  const std::string home = from_environment("HOME");
  return home.empty() ? "" : home + "/.cache/turnpike/" + name;
}

Status write_cache_file(const std::string& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const std::string unfinished = path + "." + std::to_string(getpid());
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  const int code = errno;
  std::remove(unfinished.c_str());
  return Error{"cannot write " + path + ": " + std::strerror(code)};
}

}  // namespace turnpike
