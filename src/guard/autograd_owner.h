// For whose backward pass a thread of autograd works.
#pragma once

#include <string>

#include "guard/this_thread.h"

namespace turnpike::guard {

// Whether this is the calling thread's work, by its name, which PyTorch gives: kAutograd ("pt_autograd_0"), or
// kPinning, as loaders use it to pin memory. That one serves steps that come later, whatever block is open now.
bool does(ThisThread& thread, Work work) noexcept;

// Whether PyTorch's state of this thread holds the mark: it takes the state of the thread that called backward() along
// to those that work for it. False without PyTorch.
bool has_mark(const std::string& mark) noexcept;

}  // namespace turnpike::guard
