// Alternate screen, no echo; signals stay signals.
#include "cli/top_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace turnpike::cli {
namespace {

winsize size_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {24, 80, 0, 0};
  return size;
}

// What a terminal does not take is not worth a message.
void put_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t step = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(step));
  }
}

}  // namespace

TopScreen::TopScreen() {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would get the alternate screen
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put_all("\033[?1049h\033[?25l\033[?7l");  // lines that are too long are cut, not wrapped
}

TopScreen::~TopScreen() {
  put_all("\033[?7h\033[?25h\033[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t TopScreen::columns() const {
  return size_of_terminal().ws_col;
}

std::size_t TopScreen::rows() const {
  return size_of_terminal().ws_row;
}

void TopScreen::show(const std::string& text, const std::string& footer) const {
  const std::size_t most = rows() - 1;
  std::string bytes = "\033[H";
  std::size_t row = 0;
  for (std::size_t at = 0; at < text.size() && row < most; ++row) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    bytes += "\033[K" + text.substr(at, end - at) + "\r\n";  // erased first: a full line leaves the cursor on its end
    at = end + 1;
  }
  bytes += "\033[J\033[" + std::to_string(rows()) + ";1H\033[K" + footer.substr(0, columns());
  put_all(bytes);
}

int TopScreen::key(int patience_ms) const {
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  if (poll(&waiting, 1, patience_ms) <= 0) return 0;
  unsigned char first = 0;
  if (read(STDIN_FILENO, &first, 1) != 1) return -1;
  if (first != '\033') return first;
  char rest[8] = {};  // of an arrow or another special key
  if (poll(&waiting, 1, 0) <= 0 || read(STDIN_FILENO, rest, sizeof(rest)) < 2) return 0;
  if (rest[1] == 'C') return '>';
  return rest[1] == 'D' ? '<' : 0;
}

}  // namespace turnpike::cli
