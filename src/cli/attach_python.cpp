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
constexpr const char* kAsk = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])";

std::string in_python(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

// The script that the process runs. It reads it at once or later, with its own rights.
std::string make_script(const std::string& library) {
  char path[] = "/tmp/turnpike-attach-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return "";
  const std::string text =
      "import ctypes\nctypes.CDLL(" + in_python(library) + ").turnpike_wait(None, ctypes.c_uint64(0))\n";
  const bool is_written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  fchmod(file, 0644);
  close(file);
  return is_written ? path : "";
}

// Nothing of what it prints is shown: where it fails, there is another way.
bool runs_well(const std::vector<std::string>& words) {
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
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
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

bool ask_python(pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  if (python_version_of(files) < kFirstVersion) return false;
  const std::string script = make_script(library);
  if (script.empty()) return false;
  std::error_code failed;
  const std::string python =
      std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", failed).string();
  bool is_done = false;
  if (!failed && runs_well({python, "-I", "-S", "-c", kAsk, std::to_string(process), script})) {
    const auto until = Clock::now() + kPythonPatience;
    while (!(is_done = is_dormant(process)) && Clock::now() < until) usleep(5'000);
  }
  unlink(script.c_str());
  return is_done;
}

}  // namespace turnpike::cli
