// Plays copies on their links: at any moment each goes as fast as the others leave it room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/model/direction.h"

namespace turnpike::analyze {

struct Way {
  std::uint32_t uplink;
  Direction direction;
};

// A copy on its way.
struct Crossing {
  Way way;
  std::uint32_t operation;
  double start_ns;
  double left_ns;  // of what it takes alone
  double end_ns;   // once it is over
};

// The share of its own speed at which a copy runs beside the others. `all` includes the copy itself.
double speed_beside(const Way& own, std::span<const Way> all);

// Fills in the ends. `crossings`: by start.
void play(std::vector<Crossing>& crossings);

}  // namespace turnpike::analyze
