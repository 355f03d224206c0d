// turnpike bench link: measures each device's link to the host, prints it and keeps it for the reports.
#pragma once

#include <optional>

namespace turnpike::cli {

struct BenchLinkOptions {
  std::optional<int> device;  // none: all
  bool is_json = false;
};

// Returns the exit code.
int bench_link(const BenchLinkOptions& options);

}  // namespace turnpike::cli
