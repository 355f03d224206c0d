// A progress bar on standard error, for reading that takes over a second; nothing where that is no terminal.
#pragma once

#include <chrono>
#include <string>

#include "trace/reader.h"

namespace turnpike::cli {

// One thread. The bar is erased when this ends.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { erase(); }

  // For the readers; not longer than this.
  trace::Progress callback();
  void erase();

 private:
  void show(std::uint64_t done_bytes, std::uint64_t total_bytes);

  std::string label_;
  std::chrono::steady_clock::time_point start_;
  int shown_percent_ = -1;
};

}  // namespace turnpike::cli
