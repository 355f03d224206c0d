// Reads /proc/self/stat, whose field 22 counts ticks since the machine started.
#include "base/process_start.h"

#include <unistd.h>

#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/file_text.h"

namespace turnpike {

std::int64_t process_start_ns() {
  constexpr int kFieldsBetween = 19;  // fields 3 to 21; field 2 is the name in brackets
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::string text = file_text("/proc/self/stat");
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  std::int64_t ticks = 0;
  const std::int64_t tick_ns = kSecond / sysconf(_SC_CLK_TCK);
  if (!(fields >> ticks) || ticks <= 0) return INT64_MIN;
  return realtime_ns() - read_clock(CLOCK_BOOTTIME) + (ticks + 1) * tick_ns;
}

}  // namespace turnpike
