// The two directories change their names in one step, so that whoever looks finds one recording or the other.
#include "cli/replaced_run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "trace/format.h"
#include "trace/reader.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

Error cannot_replace(const fs::path& run, const std::string& why) {
  return Error{"cannot replace " + run.string() + ": " + why};
}

// A regular file, no link, that starts as our files do.
bool is_recording(const fs::path& file) {
  struct stat found{};
  const bool is_named_so = file.extension() == trace::kFileExtension || file.extension() == trace::kSegmentExtension;
  if (!is_named_so || ::lstat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return false;
  }
  if (found.st_size == 0) return true;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  char magic[sizeof trace::kFileMagic] = {};
  const ssize_t got = ::read(descriptor, magic, sizeof magic);
  ::close(descriptor);
  return got == static_cast<ssize_t>(sizeof magic) && std::memcmp(magic, trace::kFileMagic, sizeof magic) == 0;
}

Result<std::vector<fs::path>> recordings_of(const fs::path& run) {
  struct stat found{};
  if (::lstat(run.c_str(), &found) != 0) return cannot_replace(run, std::strerror(errno));
  if (S_ISLNK(found.st_mode)) {
    return cannot_replace(run, "it is a symbolic link. Name the directory that it leads to, or another run, with -o.");
  }
  if (!S_ISDIR(found.st_mode)) return cannot_replace(run, std::strerror(ENOTDIR));
  std::vector<fs::path> recordings;
  std::error_code failed;
  for (fs::directory_iterator entry(run, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (!is_recording(entry->path())) {
      return cannot_replace(run, "it holds " + entry->path().filename().string() +
                                     ", which is no recording of Turnpike. Move that away, or name another run with "
                                     "-o.");
    }
    recordings.push_back(entry->path());
  }
  if (failed) return cannot_replace(run, failed.message());
  return recordings;
}

Status exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return Error{std::strerror(errno)};
  // A file system that cannot exchange: for a moment there is no `a`.
  const fs::path aside = b.string() + ".old";
  if (::rename(a.c_str(), aside.c_str()) != 0) return Error{std::strerror(errno)};
  if (::rename(b.c_str(), a.c_str()) != 0) {
    const int code = errno;
    ::rename(aside.c_str(), a.c_str());
    return Error{std::strerror(code)};
  }
  if (::rename(aside.c_str(), b.c_str()) != 0) return Error{std::strerror(errno)};
  return {};
}

}  // namespace

Status check_is_replaceable(const fs::path& run) {
  const auto recordings = recordings_of(run);
  return recordings ? Status() : Status(recordings.error());
}

Status replace_run(const fs::path& old, const fs::path& fresh) {
  const auto recordings = recordings_of(old);
  if (!recordings) return recordings.error();
  if (auto exchanged = exchange(old, fresh); !exchanged) return cannot_replace(old, exchanged.error().message);
  // From here on `fresh` names the old directory. What came into it since it was looked at stays.
  for (const fs::path& recording : *recordings) ::unlink((fresh / recording.filename()).c_str());
  ::rmdir(fresh.c_str());
  return {};
}

}  // namespace turnpike::cli
