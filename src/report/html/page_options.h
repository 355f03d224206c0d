// What the user chooses for a page.
#pragma once

#include <cstddef>

namespace turnpike::report::html {

struct PageOptions {
  bool has_source = true;
  bool redacts_paths = false;
  std::size_t max_events = 1'000'000;
};

}  // namespace turnpike::report::html
