// For whose backward pass a thread of autograd works.
#pragma once

#include <string>

#include "guard/this_thread.h"

namespace turnpike::guard {

// Whether this is the calling thread's work, by its name, which PyTorch gives: kAutograd ("pt_autograd_0"), or
// kPinning, as loaders use it to pin memory. That one serves steps that come later, whatever block is open now.
bool does(ThisThread& thread, Work work) noexcept;

// Leaves a mark in PyTorch's state of this thread, which it takes along from the thread that calls backward() to those
// that work for it. Nothing without PyTorch.
void leave_mark(const std::string& mark) noexcept;
// Whether this thread's state holds the mark. False without PyTorch.
bool has_mark(const std::string& mark) noexcept;

}  // namespace turnpike::guard
