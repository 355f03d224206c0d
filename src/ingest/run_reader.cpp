// Tells the kinds of files apart by their first bytes, and hands each to its reader.
#include "ingest/run_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "ingest/kineto/kineto.h"
#include "ingest/nsys/nsys.h"

namespace turnpike::ingest {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr std::string_view kGzipMagic = "\x1f\x8b";
// White space may stand before JSON; more of it than this is no trace.
constexpr std::size_t kLookedAtBytes = 4096;

std::string_view magic_of_turnpike() {
  return {trace::kFileMagic, sizeof trace::kFileMagic};
}

// The first bytes of a regular file; fewer than asked for when it is shorter.
Result<std::string> first_bytes_of(const Path& path) {
  // Not blocking, so that a named pipe in the place of a file does not hang.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const auto failed = [&](const std::string& why) { return Error{"Cannot read " + path.string() + ": " + why}; };
  if (file < 0) return failed(std::string(std::strerror(errno)) + ". Check the name and the file's permissions.");
  struct stat status{};
  std::string bytes(kLookedAtBytes, '\0');
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t count = is_regular ? ::read(file, bytes.data(), bytes.size()) : 0;
  const int reason = errno;
  ::close(file);
  if (!is_regular) return failed("it is not a regular file. Copy the trace to a file and give that.");
  if (count < 0) return failed(std::string(std::strerror(reason)) + ". Check its disk, or copy the file elsewhere.");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

bool starts_as_json(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[');
}

Error no_known_kind(const Path& path) {
  const Path extension = path.extension();
  if (extension == ".nsys-rep" || extension == ".qdrep") {
    return Error{path.string() +
                 " is a report of Nsight Systems, which only Nsight Systems reads. Export it with "
                 "`nsys export --type sqlite " +
                 path.string() + "` and give the .sqlite file."};
  }
  return Error{path.string() +
               " is no run that Turnpike knows. Give a recording (NAME.tpk), a trace of torch.profiler (.json or "
               ".json.gz) or an export of Nsight Systems (.sqlite)."};
}

Result<std::vector<trace::Process>> as_list(Result<trace::Process> process) {
  if (!process) return process.error();
  std::vector<trace::Process> processes;
  processes.push_back(std::move(*process));
  return processes;
}

}  // namespace

Result<std::string> kind_of(const Path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (const auto files = trace::run_files(path); !files) return files.error();
    return std::string("turnpike");
  }
  const auto bytes = first_bytes_of(path);
  if (!bytes) return bytes.error();
  const std::string_view start = *bytes;
  // A file that ends inside the magic is one of ours all the same: its reader says so.
  if (start.empty() || magic_of_turnpike().starts_with(start.substr(0, sizeof trace::kFileMagic))) {
    return std::string("turnpike");
  }
  if (start.starts_with(kSqliteMagic)) return std::string("nsys");
  if (start.starts_with(kGzipMagic) || starts_as_json(start)) return std::string("kineto");
  return no_known_kind(path);
}

Result<std::vector<trace::Process>> read_file(const Path& path, const SinkOfProcess& sink_of_process,
                                              const trace::Progress& progress) {
  const auto kind = kind_of(path);
  if (!kind) return kind.error();
  if (*kind == "turnpike") return as_list(trace::read_file(path, sink_of_process(), progress));
  if (*kind == "kineto") return as_list(read_kineto(path, sink_of_process(), progress));
  return read_nsys(path, sink_of_process, progress);
}

}  // namespace turnpike::ingest
