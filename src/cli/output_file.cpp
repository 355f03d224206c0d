#include "cli/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
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

// Renaming onto a symbolic link would replace the link.
fs::path resolved(const fs::path& path) {
  std::error_code failed;
  const fs::path target = fs::canonical(path, failed);
  return failed ? path : target;
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
  const fs::path target = resolved(path);
  std::error_code failed;
  if (fs::is_directory(target, failed)) return Error{"cannot write " + path.string() + ": it is a directory"};
  if (fs::exists(target, failed) && !fs::is_regular_file(target, failed)) {
    std::FILE* const file = std::fopen(target.c_str(), "wb");
    if (file == nullptr) return cannot_write(path, errno);
    return OutputFile(path, {}, file);
  }
  const fs::path unfinished = target.string() + "." + std::to_string(::getpid()) + ".part";
  remove_when_interrupted(unfinished);
  std::FILE* const file = std::fopen(unfinished.c_str(), "wbx");
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
