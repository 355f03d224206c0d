// Looks for accesses under way to the same bytes.
#include "simulated/accesses.h"

#include <algorithm>

namespace turnpike::simulated {

void Accesses::forget(const Clock& known_to_host) {
  std::erase_if(under_way_, [&](const Access& access) { return known_to_host.covers(access.by); });
}

const Access* Accesses::unordered(Range range, bool is_write, const Clock& now) const {
  for (const Access& access : under_way_) {
    if ((is_write || access.is_write) && access.range.overlaps(range) && !now.covers(access.by)) return &access;
  }
  return nullptr;
}

const Access* Accesses::find(Range range, bool writes_only) const {
  for (const Access& access : under_way_) {
    if ((access.is_write || !writes_only) && access.range.overlaps(range)) return &access;
  }
  return nullptr;
}

}  // namespace turnpike::simulated
