// Allocates many tensors with one call, as torch.empty_like() would one by one.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace turnpike::python {

// For each index a tensor with the sizes and the strides of tensors[index], on the GPU `device`, or on the host where
// that is negative. Its dtype is that of `typed`, or if that is None of tensors[index]. For dense tensors of plain
// types, the first of which is types[0]. None where this PyTorch lacks the interface, has a dtype that is not known
// here, or cannot allocate: then torch.empty_like() does it, or says why not. Needs the GIL, and lets it go meanwhile.
nanobind::object empty_likes(const nanobind::list& tensors, const std::vector<std::int64_t>& indices,
                             const nanobind::tuple& types, int device, nanobind::handle typed = nanobind::none());

}  // namespace turnpike::python
