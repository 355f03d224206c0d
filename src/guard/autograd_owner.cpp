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

StringOfTorch string_of_torch(const std::string& text) noexcept {
  return {text.data(), text.size(), text.capacity(), 0};
}

// A std::shared_ptr<c10::SafePyObject>, which is passed by its address.
struct PointerOfTorch {
  void* object;
  void* count;
};

// at::impl::ThreadLocalPythonObjects::contains(const std::string&)
using Contains = bool (*)(const StringOfTorch&);
constexpr const char* kContains =
    "_ZN2at4impl24ThreadLocalPythonObjects8containsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

// at::impl::ThreadLocalPythonObjects::set(const std::string&, std::shared_ptr<c10::SafePyObject>)
using Set = void (*)(const StringOfTorch&, PointerOfTorch*);
constexpr const char* kSet =
    "_ZN2at4impl24ThreadLocalPythonObjects3setERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    "St10shared_ptrIN3c1012SafePyObjectEE";

// A function of PyTorch. look() enters the loader, find() does not: hooks call it.
template <typename Function>
class InTorch {
 public:
  explicit constexpr InTorch(const char* name) : name_(name) {}

  // nullptr: look() has not found PyTorch yet, or it has no such function.
  Function find() const noexcept { return function_.load(std::memory_order_acquire); }

  void look() noexcept {
    if (is_looked_for_.load(std::memory_order_acquire)) return;
    void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    function_.store(reinterpret_cast<Function>(dlsym(library, name_)), std::memory_order_release);
    is_looked_for_.store(true, std::memory_order_release);
  }

 private:
  const char* name_;
  std::atomic<bool> is_looked_for_{false};
  std::atomic<Function> function_{nullptr};
};

constinit InTorch<Contains> g_contains(kContains);
constinit InTorch<Set> g_set(kSet);

}  // namespace

TURNPIKE_HOT bool does(ThisThread& thread, Work work) noexcept {
  if (thread.work == Work::kUnknown) thread.work = work_by_name();
  return thread.work == work;
}

void leave_mark(const std::string& mark) noexcept {
  g_contains.look();
  g_set.look();
  const Set set = g_set.find();
  // No object: to drop one, the thread would need the GIL at its end, and abort where Python has ended before.
  PointerOfTorch nothing{};
  if (set != nullptr) set(string_of_torch(mark), &nothing);
}

bool has_mark(const std::string& mark) noexcept {
  const Contains contains = g_contains.find();
  return contains != nullptr && contains(string_of_torch(mark));
}

}  // namespace turnpike::guard
