// Reads the kernel's counters of each processor, or those of the control group where it has a quota.
#include "record/collect/cpu_use.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/file_text.h"

namespace turnpike::record {
namespace {

// The processors that the program's main thread may run on.
cpu_set_t allowed_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(getpid(), sizeof cores, &cores) != 0) CPU_ZERO(&cores);
  return cores;
}

// Of a line "cpu3 user nice system idle iowait irq softirq steal ..." in ticks. What the hypervisor took counts as
// busy: nobody here could have had it.
struct CoreTicks {
  int core = -1;
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;
};

CoreTicks ticks_in(const std::string& line) {
  constexpr std::string_view kName = "cpu";
  constexpr int kIdle = 3, kWaiting = 4, kFields = 8;
  CoreTicks ticks;
  std::istringstream words(line.substr(kName.size()));
  if (line.size() <= kName.size() || line[kName.size()] == ' ' || !(words >> ticks.core)) return {};
  std::uint64_t value = 0;
  for (int field = 0; field < kFields && words >> value; ++field) {
    (field == kIdle || field == kWaiting ? ticks.idle : ticks.busy) += value;
  }
  return ticks;
}

// The path of the process's group, from the line "0::/path".
std::string own_group_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

// Of "200000 100000": the microseconds that a group may use in each so many. 0: "max", or nothing.
double quota_in(const std::string& text) {
  double quota = 0;
  double period = 0;
  std::istringstream(text) >> quota >> period;
  return period > 0 ? quota / period : 0;
}

std::optional<double> used_us_in(const std::string& text) {
  std::istringstream words(text);
  std::string key;
  for (double value = 0; words >> key >> value;) {
    if (key == "usage_usec") return value;
  }
  return std::nullopt;
}

}  // namespace

void CpuUse::look() {
  if (!first_) first_ = read();
}

void CpuUse::put(Metadata& metadata) const {
  const auto now = first_ ? read() : std::nullopt;
  if (!now || now->cores != first_->cores || now->all <= first_->all) return;
  const double busy = std::clamp((now->busy - first_->busy) / (now->all - first_->all), 0.0, now->cores);
  char text[64];
  std::snprintf(text, sizeof text, "cores=%g busy=%.2f", now->cores, busy);
  metadata["cpu"] = text;
}

std::optional<CpuUse::Counters> CpuUse::read() const {
  const auto of_group = read_group();
  auto of_cores = read_cores();
  return of_group && of_cores && of_group->cores < of_cores->cores ? of_group : of_cores;
}

std::optional<CpuUse::Counters> CpuUse::read_cores() const {
  const cpu_set_t allowed = allowed_cores();
  Counters counters;
  std::istringstream lines(file_text(sources_.stat));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    const CoreTicks ticks = ticks_in(line);
    if (ticks.core < 0 || ticks.core >= CPU_SETSIZE || !CPU_ISSET(ticks.core, &allowed)) continue;
    ++counters.cores;
    counters.busy += static_cast<double>(ticks.busy);
    counters.all += static_cast<double>(ticks.busy + ticks.idle);
  }
  if (counters.cores == 0) return std::nullopt;
  counters.all /= counters.cores;
  return counters;
}

// The group around the process that may use the least.
std::optional<CpuUse::Counters> CpuUse::read_group() const {
  std::optional<Counters> least;
  for (std::string path = own_group_in(file_text(sources_.own_group)); !path.empty();) {
    const std::string folder = sources_.groups + path + (path.ends_with('/') ? "" : "/");
    const double cores = quota_in(first_line_of(folder + "cpu.max"));
    const auto used_us =
        cores > 0 && (!least || cores < least->cores) ? used_us_in(file_text(folder + "cpu.stat")) : std::nullopt;
    if (used_us) least = Counters{cores, *used_us, static_cast<double>(monotonic_ns()) / 1e3};
    if (path == "/") break;
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  }
  return least;
}

}  // namespace turnpike::record
