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

// Any thread, any time; kUnknown without PyTorch and with versions of it whose structures are not known here. PyTorch
// may be loaded after CUDA: as long as it is not there, every 256th call of a thread looks for it.
AutogradMark autograd_mark() noexcept;

}  // namespace turnpike::record
