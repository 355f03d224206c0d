// Opening runs: what report, diff, check and whatif do alike.
#pragma once

#include <filesystem>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/report.h"
#include "base/result.h"

namespace turnpike::cli {

// Reads and analyzes runs as one, with a progress bar, and adds the measured rates of their links; what keeps these
// from being read is said on standard error, as a message of `command` ("turnpike report").
Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command);

// Reads runs as one into memory, with a progress bar. What cannot be read beside what can is said on standard error.
Result<analyze::LoadedRun> load_run(const std::vector<std::filesystem::path>& runs, const char* command);

// What `turnpike bench link` measured; empty, and said on standard error, when that cannot be read.
analyze::LinkRates measured_link_rates(const char* command);

}  // namespace turnpike::cli
