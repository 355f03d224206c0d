#include "guard/cxx_runtime.h"

#include <dlfcn.h>

namespace turnpike::guard {
namespace {

// A std::runtime_error of libstdc++: its vtable and its text.
constexpr unsigned long kErrorBytes = 2 * sizeof(void*);

template <typename Function>
bool find_symbol(void* library, const char* name, Function& to) {
  void* found = dlsym(library, name);
  to = reinterpret_cast<Function>(found);
  return found != nullptr;
}

}  // namespace

const CxxRuntime* CxxRuntime::find() noexcept {
  static CxxRuntime runtime;
  static const bool is_found = [] {
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr && find_symbol(library, "__cxa_allocate_exception", runtime.allocate_) &&
           find_symbol(library, "__cxa_throw", runtime.throw_) &&
           find_symbol(library, "_ZNSt13runtime_errorC1EPKc", runtime.construct_) &&
           find_symbol(library, "_ZNSt13runtime_errorD1Ev", runtime.destroy_) &&
           find_symbol(library, "_ZSt19uncaught_exceptionsv", runtime.uncaught_exceptions_) &&
           find_symbol(library, "_ZTISt13runtime_error", runtime.type_);
  }();
  return is_found ? &runtime : nullptr;
}

void CxxRuntime::raise(const char* text) const {
  void* error = allocate_(kErrorBytes);
  construct_(error, text);
  throw_(error, type_, destroy_);
  __builtin_unreachable();
}

}  // namespace turnpike::guard
