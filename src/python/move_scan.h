// Reads what the planner needs from tensors of PyTorch, without being linked against it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "python/move_plan.h"

namespace turnpike::python {

struct Scan {
  std::vector<SmallTensor> small;       // plain, in host memory, without gaps, of kPackedTensorBytes at most
  std::vector<const void*> small_data;  // where the bytes of each lie
  std::vector<std::int64_t> others;     // indices of all else
};

// Looks at a list of tensors. `types`: the tuple of exact types that are plain tensors (Tensor, Parameter). Where
// `has_grad`, tensors that require a gradient are among the others. A tensor that cannot be read is one, too. Needs the
// GIL, which holds the tensors still.
Scan scan_tensors(const nanobind::list& tensors, const nanobind::tuple& types, bool has_grad);

}  // namespace turnpike::python
