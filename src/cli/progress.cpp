#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/terminal.h"

namespace turnpike::cli {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr int kBarWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label) : label_(std::move(label)), start_(std::chrono::steady_clock::now()) {}

trace::Progress ProgressBar::callback() {
  if (!is_terminal(STDERR_FILENO)) return {};
  return [this](std::uint64_t done_bytes, std::uint64_t total_bytes) { show(done_bytes, total_bytes); };
}

void ProgressBar::show(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  if (total_bytes == 0 || std::chrono::steady_clock::now() - start_ < kPatience) return;
  const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const int percent = static_cast<int>(share * 100);
  if (percent == shown_percent_) return;
  shown_percent_ = percent;
  const std::string bar(static_cast<std::size_t>(share * kBarWidth), '#');
  std::fprintf(stderr, "\r%s [%-*s] %3d %%", label_.c_str(), kBarWidth, bar.c_str(), percent);
}

void ProgressBar::erase() {
  if (shown_percent_ >= 0) std::fputs("\r\x1b[K", stderr);
  shown_percent_ = -1;
}

}  // namespace turnpike::cli
