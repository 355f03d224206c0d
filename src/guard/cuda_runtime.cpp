// Declares what it needs of libcudart by itself: the process brings its own version, and only src/cuda has the headers.
#include "guard/cuda_runtime.h"

#include <dlfcn.h>

#include <cstddef>

#include "base/hot.h"

namespace turnpike::guard {
namespace {

// The beginning of cudaPointerAttributes, the same since CUDA 11, and room for what may follow.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  std::byte more[232];
};
enum MemoryType : int { kUnregistered = 0, kHostMemory = 1, kDeviceMemory = 2, kManagedMemory = 3 };

template <typename Function>
void find_function(void* library, const char* name, Function& to) noexcept {
  to = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

bool CudaRuntime::bind(void* function) noexcept {
  Dl_info info{};
  if (dladdr(function, &info) == 0) return false;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  CudaRuntime found;
  find_function(library, "cudaPointerGetAttributes", found.get_attributes_);
  find_function(library, "cudaStreamIsCapturing", found.is_capturing_);
  find_function(library, "cudaGetLastError", found.get_last_error_);
  if (found.get_attributes_ == nullptr || found.is_capturing_ == nullptr || found.get_last_error_ == nullptr) {
    *this = {};
    return false;
  }
  int (*get_version)(int*) = nullptr;
  find_function(library, "cudaRuntimeGetVersion", get_version);
  int version = 0;
  found.has_locations_ = get_version != nullptr && get_version(&version) == 0 && version >= 13000;
  *this = found;
  return true;
}

TURNPIKE_HOT Memory CudaRuntime::memory_at(const void* address) const noexcept {
  PointerAttributes attributes{};
  if (get_attributes_ == nullptr) return {};
  if (get_attributes_(&attributes, address) != 0) {
    get_last_error_();  // ours, and not the program's next one
    return {};
  }
  switch (attributes.type) {
    case kHostMemory:
      return {Side::kHost, HostMemory::kPinned, -1};
    case kDeviceMemory:
      return {Side::kGpu, HostMemory::kNone, attributes.device};
    case kManagedMemory:
      return {Side::kHost, HostMemory::kManaged, attributes.device};
    default:
      return {};
  }
}

bool CudaRuntime::is_capturing(const void* stream) const noexcept {
  // Asking the default stream while another one captures is an error of the program.
  if (is_capturing_ == nullptr || stream == nullptr) return false;
  int state = 0;
  if (is_capturing_(const_cast<void*>(stream), &state) != 0) {
    get_last_error_();
    return false;
  }
  return state != 0;
}

}  // namespace turnpike::guard
