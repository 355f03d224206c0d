// How busy the processors were that the process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/collect/process_metadata.h"

namespace turnpike::record {

// Where Linux says it; others are for tests.
struct CpuSources {
  std::string stat = "/proc/stat";
  std::string own_group = "/proc/self/cgroup";
  std::string groups = "/sys/fs/cgroup";  // version 2
};

// Of all programs together, from the first look to the moment of put(). In a control group that may use less than the
// machine has, of the programs of that group alone. Not safe for several threads.
class CpuUse {
 public:
  explicit CpuUse(CpuSources sources = {}) : sources_(std::move(sources)) {}

  void restart() { first_.reset(); }
  // Notes where the counters stand, the first time.
  void look();
  // The key `cpu`; nothing before a look, or where the system does not say.
  void put(Metadata& metadata) const;

 private:
  struct Counters {
    double cores = 0;
    double busy = 0;  // in the unit of `all`
    double all = 0;   // what one core would have come to
  };
  std::optional<Counters> read() const;
  std::optional<Counters> read_cores() const;
  std::optional<Counters> read_group() const;

  CpuSources sources_;
  std::optional<Counters> first_;
};

}  // namespace turnpike::record
