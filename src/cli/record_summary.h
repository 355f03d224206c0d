// What `turnpike record` tells of a recording, from the shared counters: a line while it runs, a summary at its end.
#pragma once

#include <chrono>
#include <string>

#include "cli/run_directory.h"
#include "record/session.h"

namespace turnpike::cli {

// For one row of a terminal. "" while no process has started to record: until then there is nothing to show.
std::string status_line_text(const TurnpikeStatus& status, std::chrono::seconds elapsed);

// Whole lines. `has_files`: whether the run's directory holds recordings, which can be without the counters knowing of
// them.
std::string summary_text(const TurnpikeStatus& status, const std::string& run, bool has_files);

// On standard error, once the recording is in its place. `kept`: more lines.
void print_summary(const TurnpikeStatus& status, const RunDirectory& directory, const std::string& kept);

}  // namespace turnpike::cli
