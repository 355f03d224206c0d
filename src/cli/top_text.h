// The processes of `turnpike top` as text.
#pragma once

#include <string>
#include <vector>

#include "cli/top_rates.h"

namespace turnpike::cli {

enum class TopSort { kHostTime, kCount, kBytes };

struct TopLook {
  std::size_t width = 100;
  bool has_colour = false;
  TopSort sort = TopSort::kHostTime;
  std::size_t most_sites = 10;
};

// A block for one process.
std::string to_text(const ProcessRate& process, const TopLook& look);
std::string to_json(const std::vector<ProcessRate>& processes);
// Prometheus' text format 0.0.4. `most_sites`: of each process.
std::string to_metrics(const std::vector<LiveProcess>& processes, std::size_t most_sites);

}  // namespace turnpike::cli
