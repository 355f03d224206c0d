// Takes the last row of a terminal by a scroll region (DECSTBM), in single writes so that the program's output cannot
// come between.
#include "cli/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace turnpike::cli {
namespace {

constexpr int kMinRows = 6;  // a smaller window is all the program's
constexpr int kMinColumns = 40;

constexpr const char* kSaveCursor = "\0337";
constexpr const char* kRestoreCursor = "\0338";
constexpr const char* kAllRowsScroll = "\033[r";
// Makes sure that there is a row below the cursor, which stays where it is on its text.
constexpr const char* kFreeRowBelow = "\033D\033[A";

std::string scroll_rows_above(int last_row) {
  return "\033[1;" + std::to_string(last_row - 1) + "r";
}
std::string clear_row(int row) {
  return "\033[" + std::to_string(row) + ";1H\033[2K";
}

}  // namespace

bool StatusLine::is_usable() const {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::strcmp(terminal, "dumb") == 0 || isatty(descriptor_) == 0) return false;
  return tcgetpgrp(descriptor_) == getpgrp();
}

void StatusLine::show(const std::string& text) {
  winsize size{};
  if (!is_usable() || ioctl(descriptor_, TIOCGWINSZ, &size) != 0) return;
  if (size.ws_row < kMinRows || size.ws_col < kMinColumns) return erase();
  const bool is_resized = rows_ != size.ws_row || columns_ != size.ws_col;
  if (!is_resized && text == text_) return;

  std::string bytes;
  if (rows_ == 0) bytes += kFreeRowBelow;
  bytes += kSaveCursor;
  if (is_resized) {
    if (rows_ != 0 && rows_ < size.ws_row) bytes += clear_row(rows_);
    bytes += scroll_rows_above(size.ws_row);
  }
  bytes += clear_row(size.ws_row) + text.substr(0, size.ws_col - 1u) + kRestoreCursor;
  rows_ = size.ws_row;
  columns_ = size.ws_col;
  text_ = text;
  write_all(bytes);
}

void StatusLine::erase() {
  if (rows_ == 0) return;
  write_all(kSaveCursor + clear_row(rows_) + kAllRowsScroll + kRestoreCursor);
  rows_ = 0;
  columns_ = 0;
  text_.clear();
}

// What a terminal does not take is not worth a message.
void StatusLine::write_all(const std::string& bytes) const {
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t step = write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return;
    written += static_cast<std::size_t>(step);
  }
}

}  // namespace turnpike::cli
