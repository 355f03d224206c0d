// Opening runs: what report, diff and check do alike.
#pragma once

#include <filesystem>
#include <vector>

#include "analyze/report.h"
#include "base/result.h"

namespace turnpike::cli {

// Reads and analyzes runs as one, with a progress bar, and adds the measured rates of their links; what keeps these
// from being read is said on standard error, as a message of `command` ("turnpike report").
Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command);

}  // namespace turnpike::cli
