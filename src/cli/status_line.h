// A line at the bottom of the terminal that shows how the recording goes, beside whatever the recorded program prints.
#pragma once

#include <string>

namespace turnpike::cli {

// The program writes to the same terminal and cannot be seen doing so. So the line never shares a row with it: the
// terminal is told to scroll all rows but the last, which is ours (as apt does). Erasing gives the row back; a
// turnpike killed by SIGKILL cannot do so, and leaves it to `reset`. One thread.
class StatusLine {
 public:
  // Shows nothing, ever, where `descriptor` is no terminal, or one that knows no such rows (TERM=dumb, too small).
  explicit StatusLine(int descriptor) : descriptor_(descriptor) {}
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { erase(); }

  // Writes only when the text or the terminal's size has changed. Nothing is written from the background of a shell.
  void show(const std::string& text);
  void erase();

 private:
  bool is_usable() const;
  void write_all(const std::string& bytes) const;

  int descriptor_;
  int rows_ = 0;  // of the terminal when the row was taken; 0: none is taken
  int columns_ = 0;
  std::string text_;
};

}  // namespace turnpike::cli
