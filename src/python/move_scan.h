// Reads addresses and sizes of PyTorch's tensors, without being linked against it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace turnpike::python {

// A larger tensor nearly has the link's rate by itself.
constexpr std::size_t kSmallTensorBytes = std::size_t{256} << 10;

// A plain tensor in host memory without gaps, of kSmallTensorBytes at most.
struct SmallTensor {
  std::int64_t index = 0;  // in the list that was asked about
  const void* data = nullptr;
  std::size_t size_bytes = 0;
};

struct Scan {
  std::vector<SmallTensor> small;
  std::vector<std::int64_t> others;  // indices of all else
};

// Looks at a list of tensors. `types`: the tuple of exact types that are plain tensors (Tensor, Parameter). Where
// `has_grad`, tensors that require a gradient are among the others. A tensor that cannot be read is one, too. Needs the
// GIL, which holds the tensors still.
Scan scan_tensors(const nanobind::list& tensors, const nanobind::tuple& types, bool has_grad);

// The size in bytes of a plain tensor, on the host or a GPU, whose items fill one contiguous stretch of memory. Nothing
// for other tensors and empty ones, and where this PyTorch cannot be asked through DLPack.
std::optional<std::size_t> dense_bytes(nanobind::handle tensor, const nanobind::tuple& types);

// Where the bytes of each tensor lie, whatever its device. An exception of Python for what is no tensor.
std::vector<std::uintptr_t> addresses_of(const nanobind::list& tensors, const nanobind::tuple& types);

}  // namespace turnpike::python
