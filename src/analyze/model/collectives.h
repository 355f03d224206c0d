// Collectives of several processes (ranks): which kernels of NCCL met, and who waited there for whom.
//
// The kernel of a collective starts on each rank when that rank gets there, and ends on all of them when the data has
// crossed, which takes until after the last one started. So its duration on a rank is a wait for the last rank and then
// a transfer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// "all-reduce" for a kernel of NCCL in which all ranks of a communicator meet; empty for every other kernel, also for
// NCCL's sends and receives, in which only two meet.
std::string_view collective_of(std::string_view kernel_name);

// Whether it is any kernel of NCCL or RCCL, sends and receives included.
bool is_of_nccl(std::string_view kernel_name);

// The collectives of one process.
struct RankCollectives {
  struct Kernel {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint32_t kernel;  // index into the timeline's
    std::string_view collective;
    std::uint32_t device = 0;
  };
  std::string rank;                          // as the launcher gave it; empty: unknown
  std::vector<std::vector<Kernel>> streams;  // by stream, in the order of their first collectives; each by start
};
RankCollectives collectives_of(const trace::Process& process, const Timeline& timeline);

// One collective on all ranks.
struct Meeting {
  std::string_view collective;
  std::vector<RankCollectives::Kernel> kernels;  // by rank
  // When the last rank came, and which one it was.
  std::int64_t complete_ns = 0;
  std::size_t last_rank = 0;

  std::int64_t wait_ns(std::size_t rank) const;
  std::int64_t transfer_ns(std::size_t rank) const;
};

// The meetings of all ranks, by their completion. The i-th streams of the ranks are taken for one communicator: what
// follows each other on them must be called alike and overlap in time. nullopt: there are fewer than two ranks, one has
// no collectives, or more than a tenth of them find no partners (other groups of ranks, or clocks that disagree).
std::optional<std::vector<Meeting>> match_collectives(std::span<const RankCollectives> ranks);

}  // namespace turnpike::analyze
