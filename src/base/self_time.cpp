// Sums the time by thread, so that threads do not wait for one another's cache lines.
#include "base/self_time.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "base/hot.h"

namespace turnpike {
namespace {

// More threads than lines share them.
constexpr std::size_t kLines = 256;
struct alignas(64) Line {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> ticks{0};
};
std::array<Line, kLines> g_lines;
std::atomic<std::size_t> g_threads{0};

TURNPIKE_HOT_THREAD_DATA thread_local Line* t_line = nullptr;
TURNPIKE_HOT_THREAD_DATA thread_local int t_depth = 0;

}  // namespace

bool is_self_time_counted() noexcept {
  static const bool is_counted = [] {
    const char* value = std::getenv(kSelfTimeVariable);
    return value != nullptr && std::string_view(value) == "1";
  }();
  return is_counted;
}

SelfTime self_time() noexcept {
  SelfTime sum;
  for (const Line& line : g_lines) {
    sum.count += line.count.load(std::memory_order_relaxed);
    sum.ticks += line.ticks.load(std::memory_order_relaxed);
  }
  return sum;
}

void add_self_time(std::uint64_t ticks) noexcept {
  if (t_line == nullptr) t_line = &g_lines[g_threads.fetch_add(1, std::memory_order_relaxed) % kLines];
  t_line->count.fetch_add(1, std::memory_order_relaxed);
  t_line->ticks.fetch_add(ticks, std::memory_order_relaxed);
}

bool has_self_time() noexcept {
  return t_line != nullptr;
}

SelfTimeSpan::SelfTimeSpan() noexcept : start_ticks_(ticks_now()) {
  ++t_depth;
}

SelfTimeSpan::~SelfTimeSpan() {
  if (--t_depth == 0) add_self_time(ticks_now() - start_ticks_);
}

}  // namespace turnpike
