// For whose backward pass a thread of autograd works.
#pragma once

#include <string>

namespace turnpike::guard {

// By its name, which PyTorch gives: pt_autograd_0.
bool is_autograd_thread() noexcept;

// A thread that loaders use to pin memory. It serves steps that come later, whatever block is open now.
bool is_pinning_thread() noexcept;

// Whether PyTorch's state of this thread holds the mark: it takes the state of the thread that called backward() along
// to those that work for it. False without PyTorch.
bool has_mark(const std::string& mark) noexcept;

}  // namespace turnpike::guard
