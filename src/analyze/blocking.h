// Whether a copy held the host, and for how long: decided by measured times and memory kinds, never by a function's
// name.
//
// A copy held the host when
//  (a) its call returned at or after the end of the copy on the device, give or take kClockTolerance; or
//  (b) its host side is pageable and it is larger than what the driver takes along with the command: staging is the
//      call's own work.
// The time is the whole of the call then, and 0 otherwise. The launch of a graph holds the host for none of its copies.
// Without the times of the call, and for (a) of the device, it is unknown. A very short pinned copy can be over before
// its asynchronous call returns and counts as (a): the host could indeed not have waited less.
//
// Pairing. PyTorch makes a blocking copy of an asynchronous one and a synchronisation behind it, which is the larger
// part of the wait. A synchronisation belongs to a copy when it is the next call on the same thread after the copy's,
// has the same frames of Python (so the same executing line), and comes from the same outermost operator. Both must
// have an operator: in a program without PyTorch nothing is paired. It then counts as a synchronisation and in its
// copy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/stacks.h"
#include "analyze/timeline.h"

namespace turnpike::analyze {

// Device and host times are brought together to about 0.15 us; a copy's end is interpolated by CUPTI on top of that.
inline constexpr std::int64_t kClockToleranceNs = 2000;
// CUDA: transfers from pageable host memory of up to 64 KB may return before the copy, as they are taken along.
inline constexpr std::uint64_t kStagedAboveBytes = 65536;

// Whether `call` was held until its `transfers` were done; nullopt: cannot be told. `transfers`: all that the call
// caused.
std::optional<bool> is_held_by_copy(const Call& call, std::span<const Transfer* const> transfers);

// For each call the synchronisation that is paired with it, as an index into the calls; kNone for all others.
std::vector<std::uint32_t> pair_synchronisations(const Timeline& timeline, Stacks& stacks);

}  // namespace turnpike::analyze
