#include "cli/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What the signal handler removes; "" when there is nothing.
char unfinished_path[PATH_MAX] = "";

extern "C" void remove_and_end(int signal) {
  if (unfinished_path[0] != '\0') ::unlink(unfinished_path);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void remove_when_interrupted(const std::string& path) {
  if (path.size() >= sizeof(unfinished_path)) return;
  std::strcpy(unfinished_path, path.c_str());
  for (const int signal : kEndingSignals) {
    // A signal that is ignored (nohup) stays so.
    if (::signal(signal, remove_and_end) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
}

void stop_watching() {
  unfinished_path[0] = '\0';
  for (const int signal : kEndingSignals) {
    if (::signal(signal, SIG_DFL) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
}

Error cannot_write(const fs::path& path, int error_number) {
  return Error{"cannot write " + path.string() + ": " + std::strerror(error_number)};
}

// Another user can lay a link in a folder that everybody may write in, and lead us to any file of ours. This is the
// kernel's rule for links that it resolves itself (protected_symlinks).
bool is_strangers(const struct stat& link, const fs::path& path) {
  struct stat folder{};
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::stat(parent.c_str(), &folder) != 0) return true;
  return (folder.st_mode & S_IWOTH) != 0 && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid;
}

// The file that links lead to: renaming onto a link would replace the link. `path` itself where they lead to nothing.
Result<fs::path> resolved(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  fs::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat found{};
    if (::lstat(target.c_str(), &found) != 0) return path;
    if (!S_ISLNK(found.st_mode)) return target;
    if (is_strangers(found, target)) {
      return Error{"cannot write " + path.string() + ": " + target.string() +
                   " is a link of another user, in a folder that everybody may write in. Name another file."};
    }
    std::error_code failed;
    const fs::path next = fs::read_symlink(target, failed);
    if (failed) return path;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return path;
}

// Opens a new file, with the mode of `target` if that exists.
std::FILE* opened_beside(const fs::path& target, const fs::path& unfinished) {
  constexpr mode_t kPermissions = 0777;
  struct stat replaced{};
  const bool is_there = ::stat(target.c_str(), &replaced) == 0;
  const int descriptor = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_there ? 0600 : 0666);
  if (descriptor < 0) return nullptr;
  const bool has_mode = !is_there || ::fchmod(descriptor, replaced.st_mode & kPermissions) == 0;
  std::FILE* const file = has_mode ? ::fdopen(descriptor, "wb") : nullptr;
  if (file != nullptr) return file;
  const int error_number = errno;
  ::close(descriptor);
  ::unlink(unfinished.c_str());
  errno = error_number;
  return nullptr;
}

}  // namespace

OutputFile::OutputFile(fs::path path, fs::path unfinished, std::FILE* file)
    : path_(std::move(path)), unfinished_(std::move(unfinished)), file_(file) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      unfinished_(std::move(other.unfinished_)),
      file_(std::exchange(other.file_, nullptr)),
      error_number_(other.error_number_),
      size_bytes_(other.size_bytes_) {}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  if (path == "-") return OutputFile("standard output", {}, stdout);
  const auto found = resolved(path);
  if (!found) return found.error();
  const fs::path& target = *found;
  std::error_code failed;
  if (fs::is_directory(target, failed)) return Error{"cannot write " + path.string() + ": it is a directory"};
  if (fs::exists(target, failed) && !fs::is_regular_file(target, failed)) {
    std::FILE* const file = std::fopen(target.c_str(), "wb");
    if (file == nullptr) return cannot_write(path, errno);
    return OutputFile(path, {}, file);
  }
  const fs::path unfinished = target.string() + "." + std::to_string(::getpid()) + ".part";
  remove_when_interrupted(unfinished);
  std::FILE* const file = opened_beside(target, unfinished);
  if (file == nullptr) {
    const int error_number = errno;
    stop_watching();
    return cannot_write(path, error_number);
  }
  return OutputFile(target, unfinished, file);
}

void OutputFile::write(std::string_view bytes) {
  if (has_failed()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) error_number_ = errno;
  size_bytes_ += bytes.size();
}

Status OutputFile::commit() {
  if (std::fflush(file_) != 0 && !has_failed()) error_number_ = errno;
  const bool is_closed = file_ == stdout || std::fclose(file_) == 0;
  file_ = nullptr;
  if (!is_closed && !has_failed()) error_number_ = errno;
  const bool is_renamed = unfinished_.empty() || has_failed() || std::rename(unfinished_.c_str(), path_.c_str()) == 0;
  if (!is_renamed) error_number_ = errno;
  if (has_failed()) {
    // What could not be written must not come again when the process ends.
    if (unfinished_.empty()) {
      __fpurge(stdout);
      std::clearerr(stdout);
    }
    const bool has_reader_left = unfinished_.empty() && error_number_ == EPIPE;
    discard();
    return has_reader_left ? Status() : Status(cannot_write(path_, error_number_));
  }
  if (!unfinished_.empty()) stop_watching();
  unfinished_.clear();
  return {};
}

void OutputFile::discard() {
  if (unfinished_.empty()) return;
  ::unlink(unfinished_.c_str());
  stop_watching();
  unfinished_.clear();
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  discard();
}

}  // namespace turnpike::cli
