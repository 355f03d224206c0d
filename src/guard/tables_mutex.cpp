#include "guard/tables_mutex.h"

#include <cstddef>
#include <new>

namespace turnpike::guard {

ForkMutex& tables_mutex() noexcept {
  alignas(ForkMutex) static std::byte memory[sizeof(ForkMutex)];
  static auto& mutex = *new (memory) ForkMutex;  // threads may outlive main
  return mutex;
}

}  // namespace turnpike::guard
