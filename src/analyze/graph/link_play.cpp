// From one copy that begins or is over to the next.
#include "analyze/graph/link_play.h"

#include <algorithm>
#include <limits>

#include "analyze/cost_model.h"

namespace turnpike::analyze {
namespace {

// So little that is left of a copy is nothing.
constexpr double kNothingNs = 0.5;

// Lets all go on until the next one begins or one is over; returns when that is.
double go_on(std::vector<Crossing*>& active, double now_ns, double until_ns) {
  std::vector<Way> ways;
  for (const Crossing* one : active) ways.push_back(one->way);
  for (std::size_t i = 0; i < active.size(); ++i) {
    until_ns = std::min(until_ns, now_ns + active[i]->left_ns / speed_beside(ways[i], ways));
  }
  for (std::size_t i = 0; i < active.size(); ++i) {
    active[i]->left_ns -= (until_ns - now_ns) * speed_beside(ways[i], ways);
    active[i]->end_ns = until_ns;
  }
  std::erase_if(active, [](const Crossing* one) { return one->left_ns < kNothingNs; });
  return until_ns;
}

}  // namespace

double speed_beside(const Way& own, std::span<const Way> all) {
  double same = 0;
  bool has_other = false;
  for (const Way& one : all) {
    if (one.uplink != own.uplink) continue;
    if (one.direction == own.direction) ++same;
    has_other = has_other || one.direction != own.direction;
  }
  return (has_other ? kBothDirectionsShare : 1) / same;
}

void play(std::vector<Crossing>& crossings) {
  std::vector<Crossing*> active;
  double now_ns = 0;
  for (Crossing& next : crossings) {
    while (!active.empty() && now_ns < next.start_ns) now_ns = go_on(active, now_ns, next.start_ns);
    now_ns = std::max(now_ns, next.start_ns);
    active.push_back(&next);
  }
  while (!active.empty()) now_ns = go_on(active, now_ns, std::numeric_limits<double>::infinity());
}

}  // namespace turnpike::analyze
