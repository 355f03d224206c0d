// Reads the kernel's counters of each core, and those of a control group that has a quota.
#include "record/collect/cpu_use.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file_text.h"

namespace turnpike::record {
namespace {

// Of a line "cpu3 user nice system idle iowait irq softirq steal ...". What the hypervisor took counts as busy: nobody
// here could have had it.
struct CoreTicks {
  int core = -1;
  double busy = 0;
  double idle = 0;
};

CoreTicks ticks_in(const std::string& line) {
  constexpr std::string_view kName = "cpu";
  constexpr int kIdle = 3, kFields = 8;
  CoreTicks ticks;
  std::istringstream words(line.substr(kName.size()));
  if (line.size() <= kName.size() || line[kName.size()] == ' ' || !(words >> ticks.core)) return {};
  double value = 0;
  for (int field = 0; field < kFields && words >> value; ++field) (field == kIdle ? ticks.idle : ticks.busy) += value;
  return ticks;
}

// The folders of a group and of those around it, the innermost first; each ends with a slash.
std::vector<std::string> folders_of(const std::string& root, std::string path) {
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(root + path + (path.ends_with('/') ? "" : "/"));
    if (path.size() <= 1) return folders;
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  }
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
  if (!std::exchange(has_looked_, true)) first_ = read();
}

void CpuUse::put(Metadata& metadata) const {
  const auto now = first_ ? read() : std::nullopt;
  if (!now || CPU_EQUAL(&now->cores.allowed, &first_->cores.allowed) == 0) return;
  const Cores &last = now->cores, &begin = first_->cores;
  if (last.all <= begin.all || last.busy < begin.busy) return;
  double cores = CPU_COUNT(&last.allowed);
  double idle = std::max(0.0, cores - (last.busy - begin.busy) / (last.all - begin.all));
  if (now->group.has_value() != first_->group.has_value()) return;
  if (now->group && now->group->cores < cores) {
    const Group &end = *now->group, &start = *first_->group;
    if (end.cores != start.cores || end.time_us <= start.time_us || end.used_us < start.used_us) return;
    cores = end.cores;
    idle = std::min(idle, std::max(0.0, cores - (end.used_us - start.used_us) / (end.time_us - start.time_us)));
  }
  char text[64];
  std::snprintf(text, sizeof text, "cores=%g busy=%.2f", cores, cores - idle);
  metadata["cpu"] = text;
}

// nullopt: also where a quota of the older version of control groups may hold, which is not read.
std::optional<CpuUse::Counters> CpuUse::read() const {
  const auto cores = read_cores();
  if (!cores) return std::nullopt;
  Counters counters{*cores};
  std::istringstream lines(file_text(sources_.own_groups));
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) counters.group = read_group(path);
    if (may_have_old_quota(controllers, path)) return std::nullopt;
  }
  return counters;
}

std::optional<CpuUse::Cores> CpuUse::read_cores() const {
  Cores cores;
  CPU_ZERO(&cores.allowed);
  if (sched_getaffinity(getpid(), sizeof cores.allowed, &cores.allowed) != 0) return std::nullopt;
  const int count = CPU_COUNT(&cores.allowed);
  int found = 0;
  std::istringstream lines(file_text(sources_.stat));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    const CoreTicks ticks = ticks_in(line);
    if (ticks.core < 0 || ticks.core >= CPU_SETSIZE || !CPU_ISSET(ticks.core, &cores.allowed)) continue;
    ++found;
    cores.busy += ticks.busy;
    cores.all += (ticks.busy + ticks.idle) / count;
  }
  if (found == 0 || found != count) return std::nullopt;
  return cores;
}

std::optional<CpuUse::Group> CpuUse::read_group(const std::string& path) const {
  std::optional<Group> least;
  for (const std::string& folder : folders_of(sources_.groups, path)) {
    const double cores = quota_in(first_line_of(folder + "cpu.max"));
    if (cores <= 0 || (least && least->cores <= cores)) continue;
    const auto used_us = used_us_in(file_text(folder + "cpu.stat"));
    if (used_us) least = Group{cores, *used_us, static_cast<double>(monotonic_ns()) / 1e3};
  }
  return least;
}

// In a container the path may be that of the host, and its own group the root.
bool CpuUse::may_have_old_quota(const std::string& controllers, const std::string& path) const {
  if ((',' + controllers + ',').find(",cpu,") == std::string::npos) return false;
  bool is_known = path == "/";
  for (const std::string& folder : folders_of(sources_.groups + '/' + controllers, path)) {
    const std::string quota = first_line_of(folder + "cpu.cfs_quota_us");
    if (!quota.empty() && quota.front() != '-') return true;
    is_known = is_known || !quota.empty();
  }
  return !is_known;
}

}  // namespace turnpike::record
