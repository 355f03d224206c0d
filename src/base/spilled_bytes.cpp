#include "base/spilled_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace turnpike {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> folders;
  if (const char* const named = std::getenv("TMPDIR"); named != nullptr && *named != '\0') folders.emplace_back(named);
  folders.insert(folders.end(), {"/var/tmp", "/tmp"});
  return folders;
}

// -1 with errno where the folder cannot hold one.
int file_without_name_in(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // What file systems and kernels answer that know no such files.
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string path = folder + "/turnpike-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

[[noreturn]] void fail(const std::string& what, const std::string& where, int error_number) {
  throw std::runtime_error("cannot " + what + " a temporary file in " + where + ": " + std::strerror(error_number) +
                           ". Let TMPDIR name a folder with room.");
}

}  // namespace

SpilledBytes::~SpilledBytes() {
  if (has_file()) ::close(file_);
}

std::uint64_t SpilledBytes::append(std::span<const std::byte> bytes) {
  const std::uint64_t place = size_;
  const std::size_t kept = std::min(bytes.size(), most_in_memory_ - in_memory_.size());
  // At once, so that nothing is copied again: the system gives pages of it as they are written.
  if (in_memory_.empty() && kept > 0) in_memory_.reserve(most_in_memory_);
  in_memory_.insert(in_memory_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept));
  if (kept < bytes.size()) {
    if (!has_file()) open_file();
    write_file(place + kept, bytes.subspan(kept));
  }
  size_ += bytes.size();
  return place;
}

std::size_t SpilledBytes::kept_of(std::uint64_t place, std::size_t bytes) const {
  return place < in_memory_.size() ? std::min<std::size_t>(bytes, in_memory_.size() - place) : 0;
}

void SpilledBytes::replace(std::uint64_t place, std::span<const std::byte> bytes) {
  const std::size_t kept = kept_of(place, bytes.size());
  std::copy_n(bytes.begin(), kept, in_memory_.begin() + static_cast<std::ptrdiff_t>(kept > 0 ? place : 0));
  if (kept < bytes.size()) write_file(place + kept, bytes.subspan(kept));
}

void SpilledBytes::read(std::uint64_t place, std::span<std::byte> bytes) const {
  const std::size_t kept = kept_of(place, bytes.size());
  std::copy_n(in_memory_.begin() + static_cast<std::ptrdiff_t>(kept > 0 ? place : 0), kept, bytes.begin());
  if (kept < bytes.size()) read_file(place + kept, bytes.subspan(kept));
}

void SpilledBytes::open_file() {
  int first_error = 0;
  for (const std::string& folder : folders()) {
    file_ = file_without_name_in(folder);
    folder_ = folder;
    if (has_file()) return;
    if (first_error == 0) first_error = errno;
  }
  fail("make", folders().front(), first_error);
}

void SpilledBytes::write_file(std::uint64_t place, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(place - in_memory_.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", folder_, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
}

void SpilledBytes::read_file(std::uint64_t place, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(place - in_memory_.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("read", folder_, count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
}

}  // namespace turnpike
