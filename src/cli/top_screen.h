// The screen of `turnpike top`: takes the whole terminal, and gives it back as it was.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

namespace turnpike::cli {

// One thread, one at a time. The terminal is restored when this ends.
class TopScreen {
 public:
  TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;
  ~TopScreen();

  std::size_t columns() const;
  std::size_t rows() const;
  // As much of the text as there are rows for above the last one, which is the footer's. The lines fit the columns.
  void show(const std::string& text, const std::string& footer) const;
  // The next key, '<' and '>' for the arrows; 0: none came within this time, -1: there will be none.
  int key(int patience_ms) const;

 private:
  termios before_{};
};

}  // namespace turnpike::cli
