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

  void restart();
  // Remembers the source of a large copy until the next look.
  void note(const trace::CallRecord& call);
  // Compares what was noted with the mappings of the process, which takes some milliseconds in a large one: so not more
  // often than four times a second, but for the first half second, and so many times at most. Memory that is gone by
  // then is of no file.
  void look(std::int64_t now_ns);
  // The key `from_files`.
  void put(Metadata& metadata) const;

 private:
  struct Copy {
    std::uint32_t correlation;
    std::uint64_t source;
  };

  std::string maps_;
  std::vector<Copy> noted_;
  std::vector<std::uint32_t> from_files_;
  std::int64_t next_look_ns_ = 0;
  std::int64_t wait_ns_ = 0;
  int looks_left_ = 0;
};

}  // namespace turnpike::record
