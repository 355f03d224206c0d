// How much memory this process holds, as the system counts it.
#pragma once

#include <cstdint>
#include <optional>

namespace turnpike::record {

// The resident memory of the process; nullopt where the system does not tell. Opens its file anew each time (some 10
// us): a program may close descriptors that it does not know, and open others under their numbers.
std::optional<std::uint64_t> resident_bytes() noexcept;

// Decides when a figure is worth a record: ten looks a second, a record when memory has changed by more than 1 MiB,
// and one a second in any case.
class MemoryWatch {
 public:
  // The figure to record now. `is_last`: in any case.
  std::optional<std::uint64_t> look(std::int64_t since_start_ns, bool is_last) noexcept;

 private:
  std::optional<std::int64_t> looked_ns_;
  std::int64_t recorded_ns_ = 0;
  std::uint64_t recorded_bytes_ = 0;
};

}  // namespace turnpike::record
