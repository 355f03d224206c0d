// By sys.remote_exec(), which only an interpreter of the same version has: that of the process itself.
#include "cli/attach_python.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cli/dormant_process.h"

namespace turnpike::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstVersion = 14;
constexpr std::chrono::milliseconds kPythonPatience{2'000};
constexpr int kForbiddenCode = 3;  // of the command below
constexpr const char* kAsk = R"(
import sys
try:
    sys.remote_exec(int(sys.argv[1]), sys.argv[2])
except RuntimeError as error:
    sys.exit(3 if "not enabled" in str(error) else 1)
)";

std::string in_python(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

// The script that the process runs, with its own rights. What fails there would be said in the program's own output.
std::string script_text(const std::string& library) {
  return "try:\n    import ctypes\n    ctypes.CDLL(" + in_python(library) +
         ").turnpike_wait(None, ctypes.c_uint64(0))\nexcept Exception:\n    pass\n";
}

// A file that is there for the process, too, until this object ends.
class Script {
 public:
  Script(pid_t process, const std::string& text) {
    const int file = mkstemp(path_.data());
    if (file < 0) return;
    is_made_ = true;
    const bool is_written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    fchmod(file, 0644);
    close(file);
    // A process may have a /tmp of its own.
    is_seen_ = is_written && is_same_file(path_, path_in(process, path_));
  }
  ~Script() {
    if (is_made_) unlink(path_.c_str());
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  bool is_seen() const { return is_seen_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/turnpike-attach-XXXXXX";
  bool is_made_ = false;
  bool is_seen_ = false;
};

// The exit code. Nothing of what it prints is shown: where it fails, there is another way.
int run_silently(const std::vector<std::string>& words) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    for (int number = 0; number < 3 && nowhere >= 0; ++number) dup2(nowhere, number);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  const bool has_ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  return has_ended ? WEXITSTATUS(status) : -1;
}

// The interpreter of the process; "": it runs another program, which embeds Python and must not be started again.
std::string interpreter_of(pid_t process) {
  std::error_code failed;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", failed);
  return !failed && program.filename().string().starts_with("python") ? program.string() : "";
}

bool waits_within(pid_t process, std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (!is_dormant(process)) {
    if (Clock::now() >= until) return false;
    usleep(5'000);
  }
  return true;
}

}  // namespace

int python_version_of(const std::vector<MappedFile>& files) {
  for (const MappedFile& file : files) {
    const std::string name = file.name();
    for (const char* beginning : {"libpython3.", "python3."}) {
      if (!name.starts_with(beginning)) continue;
      int minor = 0;
      std::from_chars(name.data() + std::strlen(beginning), name.data() + name.size(), minor);
      if (minor > 0) return minor;
    }
  }
  return 0;
}

PythonAnswer ask_python(pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  if (python_version_of(files) < kFirstVersion) return PythonAnswer::kNotLoaded;
  const std::string python = interpreter_of(process);
  if (python.empty()) return PythonAnswer::kNotLoaded;
  const Script script(process, script_text(library));
  if (!script.is_seen()) return PythonAnswer::kNotLoaded;
  const auto ask = [&](const std::string& path) {
    return run_silently({python, "-I", "-S", "-c", kAsk, std::to_string(process), path});
  };
  const int code = ask(script.path());
  if (code == kForbiddenCode) return PythonAnswer::kForbidden;
  if (code != 0) return PythonAnswer::kNotLoaded;
  if (waits_within(process, kPythonPatience)) return PythonAnswer::kLoaded;
  // It would run the script whenever its main thread goes on, and say that the file is gone: it gets an empty one.
  ask("/dev/null");
  return is_dormant(process) ? PythonAnswer::kLoaded : PythonAnswer::kNotLoaded;
}

}  // namespace turnpike::cli
