// How busy the processors were that the process may use.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "record/collect/process_metadata.h"

namespace turnpike::record {

// Where Linux says it; others are for tests.
struct CpuSources {
  std::string stat = "/proc/stat";
  std::string own_groups = "/proc/self/cgroup";
  std::string groups = "/sys/fs/cgroup";
};

// Counts how many cores all programs together kept busy, from the first look() to put(). Work that waits for a disk
// keeps its core busy: more of it would wait, too. Not thread-safe.
class CpuUse {
 public:
  explicit CpuUse(CpuSources sources = {}) : sources_(std::move(sources)) {}

  // Notes where the counters stand, the first time.
  void look();
  // The key `cpu`; nothing before a look, or where the system does not say.
  void put(Metadata& metadata) const;

 private:
  // Of the cores that the main thread may run on, in ticks.
  struct Cores {
    cpu_set_t allowed;
    double busy = 0;
    double all = 0;  // of one core
  };
  // Of the control group around the process that has the smallest quota.
  struct Group {
    double cores = 0;
    double used_us = 0;
    double time_us = 0;
  };
  struct Counters {
    Cores cores;
    std::optional<Group> group{};
  };
  std::optional<Counters> read() const;
  std::optional<Cores> read_cores() const;
  std::optional<Group> read_group(const std::string& path) const;
  bool may_have_old_quota(const std::string& controllers, const std::string& path) const;

  CpuSources sources_;
  bool has_looked_ = false;
  std::optional<Counters> first_;
};

}  // namespace turnpike::record
