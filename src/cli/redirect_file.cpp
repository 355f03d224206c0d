#include "cli/redirect_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace turnpike::cli {

std::optional<RedirectFile> RedirectFile::make(const std::string& address) {
  std::error_code failed;
  std::string folder = std::filesystem::temp_directory_path(failed).string() + "/turnpike-view-XXXXXX";
  if (failed || ::mkdtemp(folder.data()) == nullptr) return std::nullopt;
  RedirectFile made(folder);
  const std::string text =
      "<!DOCTYPE html><meta charset=\"utf-8\"><title>Turnpike</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url=" +
      address + "\"><a href=\"" + address + "\">Open the page</a>\n";
  const int file = ::open(made.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const bool is_written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  if (!is_written) return std::nullopt;
  return made;
}

RedirectFile::RedirectFile(std::string folder) : folder_(std::move(folder)) {}

RedirectFile::RedirectFile(RedirectFile&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}

RedirectFile& RedirectFile::operator=(RedirectFile&& other) noexcept {
  std::swap(folder_, other.folder_);
  return *this;
}

RedirectFile::~RedirectFile() {
  if (folder_.empty()) return;
  ::unlink(path().c_str());
  ::rmdir(folder_.c_str());
}

}  // namespace turnpike::cli
