// The functions that PyTorch calls instead of libcudart's: each lets the judge look at the call, then makes it.
#pragma once

#include <cstddef>

namespace turnpike::guard {

// Takes the slots of what was loaded since the last time; how many are taken in all. Any thread.
std::size_t take_slots() noexcept;
void restore_slots() noexcept;
// Whether there are any, and nothing was loaded since. False also while another thread takes some.
bool are_slots_fresh() noexcept;

}  // namespace turnpike::guard
