#include "guard/tables_mutex.h"

namespace turnpike::guard {

std::mutex& tables_mutex() noexcept {
  static auto& mutex = *new std::mutex;  // threads may outlive main
  return mutex;
}

}  // namespace turnpike::guard
