// Calls that are not made through our hooks: those of libraries outside PyTorch. Only a recorder in the same process
// hears of them, when they are over.
#pragma once

namespace turnpike::guard {

// Has the recorder tell us of each call, once its library is in the process.
void listen_to_recorder() noexcept;

// Whether a recorder tells us now. Without one nothing is known of such calls.
bool is_outside_seen() noexcept;

}  // namespace turnpike::guard
