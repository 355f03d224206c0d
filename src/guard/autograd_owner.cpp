#include "guard/autograd_owner.h"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "base/hot.h"

namespace turnpike::guard {
namespace {

[[gnu::noinline, gnu::cold]] Work work_by_name() noexcept {
  std::array<char, 16> name{};
  if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) return Work::kUnknown;
  const std::string_view view(name.data());
  return view.starts_with("pt_autograd")   ? Work::kAutograd
         : view.starts_with("pt_data_pin") ? Work::kPinning
                                           : Work::kOther;
}

// A std::string as libstdc++ lays it out, whichever C++ runtime this library has.
struct StringOfTorch {
  const char* data;
  std::size_t size;
  std::size_t capacity;
  std::size_t unused;
};

// at::impl::ThreadLocalPythonObjects::contains(const std::string&)
using Contains = bool (*)(const StringOfTorch&);
constexpr const char* kContains =
    "_ZN2at4impl24ThreadLocalPythonObjects8containsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

Contains find_contains() noexcept {
  static std::atomic<Contains> found{nullptr};
  Contains contains = found.load(std::memory_order_acquire);
  if (contains != nullptr) return contains;
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  contains = reinterpret_cast<Contains>(dlsym(library, kContains));
  found.store(contains, std::memory_order_release);
  return contains;
}

}  // namespace

TURNPIKE_HOT bool does(ThisThread& thread, Work work) noexcept {
  if (thread.work == Work::kUnknown) thread.work = work_by_name();
  return thread.work == work;
}

bool has_mark(const std::string& mark) noexcept {
  const Contains contains = find_contains();
  return contains != nullptr && contains({mark.data(), mark.size(), mark.capacity(), 0});
}

}  // namespace turnpike::guard
