// From recordings to a report: the entry to the analysis.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "analyze/report.h"
#include "analyze/timeline.h"
#include "base/result.h"
#include "trace/process.h"
#include "trace/reader.h"

namespace turnpike::analyze {

// The key of Report::losses for files of a run that could not be read while others could.
inline constexpr const char* kUnreadableFile = "unreadable_file";

// Analyzes Turnpike runs together: every trace file of every input is one process. Files are read one after the other,
// and only one is in memory at a time. `progress` counts the bytes of all files. Fails when no file can be read; one
// that cannot beside others that can is a loss. Total::link_gbps stays empty: it is measured elsewhere.
Result<Report> analyze_run(const std::vector<std::filesystem::path>& inputs, const trace::Progress& progress = {});

// A process of any source, its records loaded.
struct LoadedProcess {
  trace::Process process;
  Timeline timeline;
};

// Analyzes processes that are already in memory. The caller fills in source.kind and source.paths.
Report analyze_processes(std::span<const LoadedProcess> processes);

}  // namespace turnpike::analyze
