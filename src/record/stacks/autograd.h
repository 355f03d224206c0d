// The number by which PyTorch ties a backward node to the forward operation that made it, for the calling thread.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace turnpike::record {

struct AutogradMark {
  trace::AutogradRole role;
  // kBackward: the number of the node being evaluated; UINT64_MAX for nodes that accumulate gradients: no operation
  // made those. kForward: the number that the next node made by this thread will get. kUnknown: 0.
  std::uint64_t sequence;
};

// Looks for PyTorch, which a program may load at any time; not again once it is found. It enters the loader. Any
// thread.
void find_autograd() noexcept;

// Any thread, any time; kUnknown as long as find_autograd() has found no PyTorch, and with versions of it whose
// structures are not known here.
AutogradMark autograd_mark() noexcept;

}  // namespace turnpike::record
