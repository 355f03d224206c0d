#include "cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace turnpike::cli {

bool has_display() {
  if (std::getenv("CI") != nullptr) return false;
  return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
}

void open_browser(const std::string& address) {
  // Twice, so that the browser is no child that this process would have to wait for.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() == 0) {
      const int nothing = ::open("/dev/null", O_RDWR);
      if (nothing < 0) ::_exit(127);
      for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, file);
      // `record` blocks signals while its command runs, and afterwards.
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execlp("xdg-open", "xdg-open", address.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::_exit(0);
  }
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
}

}  // namespace turnpike::cli
