#include "guard/tables_mutex.h"

#include <cstddef>
#include <new>

namespace turnpike::guard {

std::mutex& tables_mutex() noexcept {
  alignas(std::mutex) static std::byte memory[sizeof(std::mutex)];
  static auto& mutex = *new (memory) std::mutex;  // threads may outlive main
  return mutex;
}

}  // namespace turnpike::guard
