#include "guard/crossing.h"

namespace turnpike::guard {

std::optional<Kind> kind_of(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::string_view name_of(HostMemory memory) noexcept {
  switch (memory) {
    case HostMemory::kPageable:
      return "pageable";
    case HostMemory::kPinned:
      return "pinned";
    case HostMemory::kManaged:
      return "managed";
    case HostMemory::kNone:
      break;
  }
  return "";
}

}  // namespace turnpike::guard
