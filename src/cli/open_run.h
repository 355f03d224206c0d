// Opening runs: what report, diff, check and whatif do alike.
#pragma once

#include <filesystem>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/report.h"
#include "base/result.h"

namespace turnpike::cli {

// Reads and analyzes runs as one, with a progress bar, with the measured rates of their links. What cannot be read
// or is doubtful about the runs, and whether they are incomplete, is said on standard error, as messages of `command`
// ("turnpike report"). `watch` sees each process while it is in memory.
Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command,
                                 const analyze::ProcessWatcher& watch = {});

// Reads runs as one into memory, with a progress bar, and says what open_run says.
Result<analyze::LoadedRun> load_run(const std::vector<std::filesystem::path>& runs, const char* command);

// How a command ends that has done its work: kUnreadableInput when nothing could be read of one of its runs, and if
// `is_strict` also when a part of one could not.
int exit_code_of(const analyze::InputRemarks& inputs, bool is_strict = false);

// Says what open_run says of its inputs.
void tell(const analyze::InputRemarks& inputs, const char* command);

// What `turnpike bench link` measured; empty, and said on standard error, when that cannot be read.
analyze::LinkRates measured_link_rates(const char* command);

}  // namespace turnpike::cli
