// What is asked of libcudart about a call before it is made: what memory an address is, whether a stream captures.
#pragma once

#include "guard/copy.h"

namespace turnpike::guard {

class CudaRuntime {
 public:
  // The libcudart that `function` (one of its functions) belongs to. False: it lacks what is asked here, and is not
  // bound.
  bool bind(void* function) noexcept;
  bool is_bound() const noexcept { return get_attributes_ != nullptr; }
  // Whether it names places by a cudaMemLocation: since CUDA 13.
  bool has_locations() const noexcept { return has_locations_; }

  // Pageable memory of the host where the runtime does not know the address, or is not bound.
  Memory memory_at(const void* address) const noexcept;
  bool is_capturing(const void* stream) const noexcept;

 private:
  int (*get_attributes_)(void*, const void*) = nullptr;
  int (*is_capturing_)(void*, int*) = nullptr;
  int (*get_last_error_)() = nullptr;
  bool has_locations_ = false;
};

}  // namespace turnpike::guard
