// Whether a copy held the host, and for how long: by what CUDA documents for its memory, then by measured times; never
// by a function's name.
//
// An asynchronous copy can be over before its call returns, though nothing waited. So the times decide only where
// CUDA's documentation ("API synchronization behavior" of the runtime) lets a copy hold the host at all:
//  - device to device and between devices, and memsets: never. (A memset of page-locked or managed memory may: times.)
//  - host side page-locked: an asynchronous copy never (CUPTI's flag of the copy); a synchronous one by the times.
//  - device to pageable host: by the times. It returns once the copy has completed, so it should always be held.
//  - pageable host to device: above 64 KiB always, staging is the call's own work. Up to 64 KiB an asynchronous copy
//    never, as it is taken along with the command; a synchronous one by the times.
//  - all else (host to host, managed or unknown memory): by the times.
// By the times: held when the call returned at or after the end of the copy, give or take kClockToleranceNs; unknown
// without these times. The time is the whole of the call then, and 0 when it was not held. The launch of a graph holds
// the host for none of its copies.
//
// Pairing. PyTorch makes a blocking copy of an asynchronous one and a synchronisation behind it, which is the larger
// part of the wait. A synchronisation belongs to a copy when it is the next call on the same thread after the copy's,
// has the same frames of Python (so the same executing line), and comes from the same outermost operator. Event records
// and waits of streams between the two are passed over: not every detail level records them, and they hold nothing.
// Both must have an operator: in a program without PyTorch nothing is paired. It then counts as a synchronisation and
// in its copy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/model/stacks.h"
#include "analyze/model/timeline.h"

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
