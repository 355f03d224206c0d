// Which bytes the operations under way read and write, and which of them nothing puts in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulated/clock.h"

namespace turnpike::simulated {

// Addresses of the host or of a device: they never coincide.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool is_empty() const { return begin >= end; }
  bool overlaps(Range other) const { return begin < other.end && other.begin < end; }
};

struct Access {
  Range range;
  bool is_write = false;
  Position by;
  std::string what;  // of the operation, for the sentence
};

// Of what the host does not know to be done: everything else comes before whatever is issued from now on.
class Accesses {
 public:
  void add(Access access) { under_way_.push_back(std::move(access)); }
  void forget(const Clock& known_to_host);

  // An access to these bytes that `now` does not come after, and that may not overlap it; nullptr: none.
  const Access* unordered(Range range, bool is_write, const Clock& now) const;
  // An access to these bytes that is under way; nullptr: none.
  const Access* find(Range range, bool writes_only) const;

 private:
  std::vector<Access> under_way_;
};

}  // namespace turnpike::simulated
