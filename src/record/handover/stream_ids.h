// The ids of a thread's streams, as CUPTI gave them.
#pragma once

#include <cstdint>

#include "record/handover/recent_answers.h"

namespace turnpike::record {

// A handle may come back for another stream once its own is gone. So what is known holds for one age of the process's
// streams; making a stream begins another.
class StreamIds {
 public:
  struct Stream {
    void* handle;
    std::uint32_t context_id;
    bool is_per_thread;  // a null handle is the thread's own default stream

    bool operator==(const Stream&) const = default;
  };

  void clear() noexcept { recent_.clear(); }

  // nullptr: not known in this age.
  const std::uint32_t* find(const Stream& stream, std::uint32_t age) noexcept {
    const Known* known = recent_.find(age, [&](const Known& one) { return one.stream == stream; });
    return known == nullptr ? nullptr : &known->id;
  }
  // After find() of the same age.
  void add(const Stream& stream, std::uint32_t id) noexcept { recent_.add({stream, id}); }

 private:
  struct Known {
    Stream stream;
    std::uint32_t id;
  };

  RecentAnswers<Known, 8> recent_;
};

}  // namespace turnpike::record
