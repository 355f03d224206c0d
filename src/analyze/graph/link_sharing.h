// Copies that are on a link at once slow each other down: those up and those down on one link, and those of several
// GPUs behind one uplink.
//
// The longest path through a graph knows no rates. So copies get the durations that they would have alone, the graph is
// re-timed, and copies that meet then take as much longer as their link has less for each, until nothing changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyze/graph/graph.h"
#include "analyze/graph/links.h"

namespace turnpike::analyze {

class LinkSharing {
 public:
  LinkSharing() = default;
  // Looks only at copies that are large enough to matter, over links whose rate is known.
  LinkSharing(const Timeline& timeline, const Graph& graph, const std::map<std::uint32_t, Link>& links);

  // What each of these copies would take alone after edits, in nanoseconds; empty where none can meet.
  std::vector<double> alone_ns(const Graph& changed) const;
  // Sets what they take if they begin at these times. Returns whether one differs by more than a microsecond.
  bool settle(Graph& changed, std::span<const std::int64_t> times_ns, std::span<const double> alone_ns) const;

 private:
  struct Copy {
    std::uint32_t operation;
    std::uint32_t device;
    std::uint32_t uplink;  // GPUs behind one have the same
    Direction direction;
    double bytes_ns;  // what its bytes take at the rate of its link
    double measured_ns;
    double alone_ns;  // what it would have taken in the recording without others
  };
  // Whether it goes as fast as its link allows. If not, it waits for something else and leaves room.
  static bool fills_link(const Copy& copy, double alone_ns);
  static std::optional<double> share_beside(const Graph& graph, std::span<const Copy* const> own,
                                            std::span<const Copy* const> others);
  bool can_meet() const;
  void find_uplinks(const Graph& graph);
  void undo_meetings(const Graph& graph);
  void undo_meetings_of(std::span<const std::size_t> counted, const Graph& graph);

  std::vector<Copy> copies_;  // by measured start
};

}  // namespace turnpike::analyze
