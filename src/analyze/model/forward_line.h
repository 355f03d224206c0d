// The forward line behind a transfer of the backward pass, found through autograd's sequence numbers.
//
// An operation of the forward pass takes the next number of its thread for the node it makes, then runs its kernels. So
// the calls it makes carry the number that follows its node's, and the first of them on its thread leads to its line.
// It is given only where nothing else fits:
//  - the first call after node N was made must carry exactly N + 1: a higher number is of a later operation;
//  - numbers are counted on each thread, so no second thread may have made a node N before the backward call.
// The launches must have been recorded, though they carry no stack: where one comes first, the line is not known.
// What can still mislead: an operation that makes a node without calling CUDA (a view), followed at once by one that
// calls CUDA without making a node.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/model/timeline.h"

namespace turnpike::analyze {

class ForwardLines {
 public:
  explicit ForwardLines(const Timeline& timeline);

  // The forward call of the operation whose node `backward` evaluates, as an index into the calls; kNone: not known.
  std::uint32_t find(const Call& backward) const;

 private:
  struct FirstCall {
    std::uint64_t sequence;
    std::uint32_t call;
  };
  // The first call with each number, numbers rising. A thread id that the system gave out again starts a new run.
  using Run = std::vector<FirstCall>;

  const Timeline& timeline_;
  std::vector<Run> runs_;
};

}  // namespace turnpike::analyze
