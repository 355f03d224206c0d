// The call paths as the rows of a tree, for text and page alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report {

inline constexpr const char* kPathCostNote =
    "cost: time the CPU was blocked plus time the GPU copied without computing";

struct PathRow {
  std::size_t depth;
  std::int64_t cost_ns;             // of all that the row led to
  std::optional<double> share_pct;  // of all cost; nullopt: nothing has a cost
  std::string text;                 // cleaned
};

// The first row is of all; each row stands before what is below it, most cost first. Rows below 1 % are one row. Lines
// of one library that only lead to the next are one row.
std::vector<PathRow> path_rows(const analyze::CallPaths& paths);

std::int64_t path_cost_of_all(const analyze::CallPaths& paths);
std::optional<double> path_share(std::int64_t part_ns, std::int64_t all_ns);
// "CPU > GPU", or "sync".
const char* path_kind_text(std::optional<analyze::Direction> direction);

}  // namespace turnpike::report
