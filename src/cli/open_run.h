// Opening runs: the one place through which every command reads them, so that each says what could not be read.
#pragma once

#include <filesystem>
#include <functional>
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

// Reads runs of every kind.
analyze::FileReader all_kinds();

// For a command that reads files by itself: `work` does so with the reader that it gets, and returns how the
// command ends. What could not be read of the files is said after it, as by open_run, and with `is_strict` the command
// then ends with kUnreadableInput.
int with_files(const char* command, bool is_strict, const std::function<int(const analyze::FileReader&)>& work,
               const analyze::FileReader& reader = all_kinds());

// How a command ends that has done its work: kUnreadableInput when nothing could be read of one of its runs, and if
// `is_strict` also when a part of one could not.
int exit_code_of(const analyze::InputRemarks& inputs, bool is_strict = false);

// What `turnpike bench link` measured; empty, and said on standard error, when that cannot be read.
analyze::LinkRates measured_link_rates(const char* command);

}  // namespace turnpike::cli
