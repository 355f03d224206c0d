// Files of Python that belong to no program, by their paths alone.
#pragma once

#include <string_view>

namespace turnpike {

// Of an installed package or the standard library. The report goes by more than the path (docs/report.md).
constexpr bool is_installed_file(std::string_view path) {
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace turnpike
