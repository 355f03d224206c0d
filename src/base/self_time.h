// How long the program's threads are inside of Turnpike's own code: counted where TURNPIKE_SELF_TIME=1 asks for it.
#pragma once

#include <cstdint>

#include "base/tick_counter.h"

namespace turnpike {

inline constexpr const char* kSelfTimeVariable = "TURNPIKE_SELF_TIME";

// Whether it is asked for; the same as long as the process runs. For who chooses functions, not for those themselves.
bool is_self_time_counted() noexcept;

struct SelfTime {
  std::uint64_t count = 0;  // how often a thread came in
  std::uint64_t ticks = 0;

  SelfTime operator-(const SelfTime& before) const noexcept { return {count - before.count, ticks - before.ticks}; }
};

// Of all threads since the process began.
SelfTime self_time() noexcept;

// The calling thread was inside once more, for so long. Takes no lock and no memory.
void add_self_time(std::uint64_t ticks) noexcept;
// Whether the calling thread was ever inside.
bool has_self_time() noexcept;

// The calling thread is inside as long as this lives. One within another counts with the outer one.
class SelfTimeSpan {
 public:
  SelfTimeSpan() noexcept;
  ~SelfTimeSpan();
  SelfTimeSpan(const SelfTimeSpan&) = delete;
  SelfTimeSpan& operator=(const SelfTimeSpan&) = delete;

 private:
  std::uint64_t start_ticks_;
};

}  // namespace turnpike
