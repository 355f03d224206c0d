#include "guard/frame_role.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/operator_name.h"
#include "guard/tables_mutex.h"

namespace turnpike::guard {
namespace {

// item(), tolist(), to(), unique() and boolean masks copy and wait by these operators. They check each CUDA call for an
// error and hold nothing but objects then: tensors, guards of devices, buffers.
constexpr std::string_view kSafeOperators[] = {"copy_", "_local_scalar_dense", "nonzero", "nonzero_out"};

// Names as they are exported, up to the parameters.
struct KnownFunction {
  std::string_view prefix;
  FrameRole role;
};
constexpr KnownFunction kKnownFunctions[] = {
    {"_ZN3c104cuda18device_synchronizeE", FrameRole::kWait},
    {"_ZNK3c104cuda10CUDAStream11synchronizeE", FrameRole::kWait},
    {"_ZN5torch8autograd6Engine11thread_mainE", FrameRole::kEngine},
    // DistributedDataParallel counts the gradients that are ready: an exception in between leaves the count wrong.
    {"_ZN4c10d", FrameRole::kOther},
    {"_ZNK4c10d", FrameRole::kOther},
};

// Only the libraries of PyTorch's wheels: extensions have similar names (libtorchvision.so, libtorch_tensorrt.so).
constexpr KnownFunction kLibraries[] = {
    {"libtorch_cpu.so", FrameRole::kTorch},
    {"libtorch_cuda.so", FrameRole::kTorch},
    {"libtorch_cuda_linalg.so", FrameRole::kTorch},
    {"libtorch.so", FrameRole::kTorch},
    {"libc10.so", FrameRole::kTorch},
    {"libc10_cuda.so", FrameRole::kAllocator},
    {"libtorch_python.so", FrameRole::kBinding},
};

FrameRole role_by(std::string_view name, const KnownFunction* begin, const KnownFunction* end, FrameRole otherwise) {
  const auto* found = std::find_if(begin, end, [&](const KnownFunction& one) { return name.starts_with(one.prefix); });
  return found == end ? otherwise : found->role;
}

const void* base_of(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

FrameFunction look_up(void* function) {
  Dl_info info{};
  if (function == nullptr || dladdr(function, &info) == 0) return {};
  if (info.dli_fbase == base_of(reinterpret_cast<const void*>(&frame_function))) return {FrameRole::kOurs, {}};
  if (info.dli_fbase == base_of(dlsym(RTLD_DEFAULT, "PyErr_SetString"))) return {FrameRole::kPython, {}};
  return function_of(info.dli_fname, info.dli_sname == nullptr ? "" : info.dli_sname);
}

// With tables_mutex().
std::unordered_map<void*, FrameFunction>& functions() {
  static auto& all = *new std::unordered_map<void*, FrameFunction>;  // threads may outlive main
  return all;
}

const FrameFunction* known_function(void* function) {
  const std::lock_guard lock(tables_mutex());
  const auto known = functions().find(function);
  return known == functions().end() ? nullptr : &known->second;
}

}  // namespace

FrameFunction function_of(std::string_view library_path, std::string_view symbol) {
  const std::string_view name = library_path.substr(library_path.rfind('/') + 1);
  const FrameRole library = role_by(name, std::begin(kLibraries), std::end(kLibraries), FrameRole::kOther);
  if (library == FrameRole::kOther) return {};
  const auto structure = operator_structure(symbol);
  if (!structure) {
    return {role_by(symbol, std::begin(kKnownFunctions), std::end(kKnownFunctions), library), {}};
  }
  const bool is_safe =
      std::find(std::begin(kSafeOperators), std::end(kSafeOperators), *structure) != std::end(kSafeOperators);
  return {is_safe ? FrameRole::kSafeOperator : FrameRole::kOtherOperator, operator_name(*structure)};
}

const FrameFunction& frame_function(void* function) {
  if (const FrameFunction* known = known_function(function)) return *known;
  FrameFunction found = look_up(function);  // asks the loader: not with the mutex
  const std::lock_guard lock(tables_mutex());
  return functions().try_emplace(function, std::move(found)).first->second;
}

}  // namespace turnpike::guard
