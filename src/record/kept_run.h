// The names of kept runs, NAME-1.tpk beside NAME.tpk, with the next number that is free; and how the processes of a run
// hear of one.
#pragma once

#include <cstdint>
#include <string>

#include "record/session.h"

namespace turnpike::record {

// "/runs/train-2.tpk" for "/runs/train.tpk", also while that is recorded beside an older one
// ("/runs/train.tpk.new-4711").
std::string kept_run_path(const std::string& run, std::uint64_t number);

// Makes the directory of the first number above `number` that is free, and gives that number; 0: it could not be made,
// and errno says why.
std::uint64_t claim_kept_run(const std::string& run, std::uint64_t number);

// Sets the number of a status, which all processes look at, to `number` if it is lower. They may do so at once.
void raise_keep_number(TurnpikeStatus& status, std::uint64_t number) noexcept;

}  // namespace turnpike::record
