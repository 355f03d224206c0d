// The three kinds of Transfer: through the ring, small in the program's stream, and between devices.
#pragma once

#include <memory>

#include "move/state.h"

namespace turnpike::move {

// A job of the stager, or direct copies behind which a job without chunks stands.
std::unique_ptr<Transfer> staged_transfer(std::shared_ptr<State> state, std::shared_ptr<Job> job, Stream made_for,
                                          std::shared_ptr<void> owner);

std::unique_ptr<Transfer> in_stream_transfer(std::shared_ptr<State> state, std::shared_ptr<InStream::Fetch> fetch);

// Copies that have been issued already, between `from` and `to`.
std::unique_ptr<Transfer> peer_transfer(std::shared_ptr<State> state, Device& from, Stream from_stream, Device& to,
                                        Stream to_stream, std::shared_ptr<Mark> done, std::shared_ptr<void> owner);

}  // namespace turnpike::move
