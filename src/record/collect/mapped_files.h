// Notes which large copies read a file that is mapped into memory, as weights are loaded.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "record/collect/process_metadata.h"
#include "trace/format.h"

namespace turnpike::record {

// Not safe for several threads.
class MappedFiles {
 public:
  explicit MappedFiles(std::string maps = "/proc/self/maps") : maps_(std::move(maps)) {}

  // Remembers the source of a large copy until the next look.
  void note(const trace::CallRecord& call);
  // Compares the noted sources with the mappings of the process, of which Linux 6.11 and later answer one in a
  // microsecond. Older ones list them all, which takes milliseconds in a large process. So it looks as often as it is
  // called in the first half second, or at growing intervals where it needs the list; then at most four times a second,
  // and 64 times in all. Memory that is gone by then is of no file.
  void look(std::int64_t now_ns);
  // The key `from_files`.
  void put(Metadata& metadata) const;

 private:
  struct Copy {
    std::uint32_t correlation;
    std::uint64_t source;
  };

  // A recording may last a fraction of a second, and a program that loads one model after another unmaps each in turn:
  // the first looks are closer.
  static constexpr std::int64_t kFirstWaitNs = 15'625'000;

  std::string maps_;
  bool has_queries_ = true;  // until the system refuses one
  std::vector<Copy> noted_;
  std::vector<std::uint32_t> from_files_;
  std::int64_t first_look_ns_ = -1;
  std::int64_t next_look_ns_ = 0;
  std::int64_t wait_ns_ = kFirstWaitNs;
  int looks_left_ = 64;
};

}  // namespace turnpike::record
