// Names, makes and removes the directory of a recording.
#include "cli/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/replaced_run.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0777;  // less the umask

Error cannot(const char* do_what, const fs::path& path, int code) {
  return Error{std::string("cannot ") + do_what + " the run directory " + path.string() + ": " + std::strerror(code) +
               ". Name another with -o."};
}

// `at`: the part of the path that fails.
Error cannot_make(const fs::path& path, const fs::path& at, int code) {
  if (at == path) return cannot("make", path, code);
  return Error{
      "cannot make the run directory " + path.string() + ": its folder " + at.string() +
      (code == ENOTDIR ? " is a file" : std::string(" is not there and cannot be made: ") + std::strerror(code)) +
      ". Name another with -o."};
}

bool is_named_as_recording(const fs::path& file) {
  return file.extension() == ".tpt";
}

std::string without(const std::string& name, const std::string& ending) {
  const bool has_ending = name.size() > ending.size() && name.ends_with(ending);
  return has_ending ? name.substr(0, name.size() - ending.size()) : name;
}

Result<bool> is_vacant(const fs::path& path) {
  std::error_code failed;
  const bool is_vacant = fs::is_empty(path, failed);
  if (failed) return cannot("read", path, failed.value());
  return is_vacant;
}

// "runs/a.tpk.new-42" for "runs/a.tpk/".
fs::path name_beside(const fs::path& path) {
  const fs::path plain = path.has_filename() ? path : path.parent_path();
  return plain.string() + ".new-" + std::to_string(getpid());
}

}  // namespace

std::string default_run_name(const std::vector<std::string>& command) {
  const auto name_of = [](const std::string& path) { return fs::path(path).filename().string(); };
  const auto script = std::find_if(command.begin(), command.end(), [](const std::string& argument) {
    return argument.ends_with(".py") && !argument.starts_with("-");
  });
  if (script != command.end() && name_of(*script) != ".py") return without(name_of(*script), ".py");

  const std::string program = command.empty() ? "" : name_of(command.front());
  const auto module = std::find(command.begin(), command.end(), "-m");
  if (program.starts_with("python") && module != command.end() && module + 1 != command.end()) {
    const std::string name = name_of(*(module + 1));
    return name.substr(name.find_last_of('.') + 1);
  }
  return program.empty() ? "run" : without(program, ".sh");
}

Result<RunDirectory> RunDirectory::make_new(const std::string& name) {
  for (int number = 1;; ++number) {
    RunDirectory directory(name + (number == 1 ? "" : "-" + std::to_string(number)) + ".tpk");
    if (mkdir(directory.path_.c_str(), kMode) == 0) {
      directory.made_.push_back(directory.path_);
      return directory;
    }
    if (errno != EEXIST) return cannot("make", directory.path_, errno);
  }
}

Result<RunDirectory> RunDirectory::make_at(const fs::path& path, bool is_forced) {
  RunDirectory directory(path);
  fs::path prefix;
  for (const auto& part : path) {
    prefix /= part;
    if (prefix.empty() || mkdir(prefix.c_str(), kMode) == 0) {
      if (!part.empty()) directory.made_.push_back(prefix);
      continue;
    }
    struct stat found{};
    const int code = errno;
    if (stat(prefix.c_str(), &found) != 0) {
      directory.remove_if_empty();
      return cannot_make(path, prefix, code);
    }
    if (!S_ISDIR(found.st_mode)) {
      directory.remove_if_empty();
      return cannot_make(path, prefix, ENOTDIR);
    }
  }
  if (auto free = check_is_free(path, is_forced); !free) return free.error();
  const auto is_empty = is_vacant(path);
  if (!is_empty) return is_empty.error();
  if (!*is_empty) return make_beside(path);
  if (access(path.c_str(), W_OK | X_OK) != 0) return cannot("write into", path, errno);
  return directory;
}

Status RunDirectory::check_is_free(const fs::path& path, bool is_forced) {
  std::error_code failed;
  if (!fs::is_directory(path, failed) || fs::is_empty(path, failed) || failed) return {};
  if (is_forced) return check_is_replaceable(path);
  return Error{path.string() +
               " exists and is not empty. Name another run with -o, or replace the recording in it with --force."};
}

Result<RunDirectory> RunDirectory::make_beside(const fs::path& old) {
  RunDirectory directory(old);
  directory.recorded_ = name_beside(old);
  if (mkdir(directory.recorded_.c_str(), kMode) != 0) return cannot("make", directory.recorded_, errno);
  directory.made_.push_back(directory.recorded_);
  return directory;
}

Status RunDirectory::take_place() {
  if (!is_replacement() || !has_recordings()) return {};
  if (auto replaced = replace_run(path_, recorded_); !replaced) return replaced;
  recorded_ = path_;
  made_.clear();
  return {};
}

bool RunDirectory::has_recordings() const {
  std::error_code failed;
  for (fs::directory_iterator entry(recorded_, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (is_named_as_recording(entry->path())) return true;
  }
  return false;
}

void RunDirectory::remove_if_empty() const {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    if (rmdir(made->c_str()) != 0) return;
  }
}

std::optional<RunDirectory> make_run_directory(const RunPlace& place, const std::string& command, int& exit_code) {
  const std::string path = place.path.empty() && place.is_forced ? place.name + ".tpk" : place.path;
  if (!path.empty()) {
    if (auto free = RunDirectory::check_is_free(path, place.is_forced); !free) {
      exit_code = fail(command, free.error().message, kUsage);
      return std::nullopt;
    }
  }
  auto made = path.empty() ? RunDirectory::make_new(place.name) : RunDirectory::make_at(path, place.is_forced);
  if (made) return std::move(*made);
  exit_code = fail(command, made.error().message, kFailed);
  return std::nullopt;
}

}  // namespace turnpike::cli
