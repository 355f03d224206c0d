// From recordings to a report: the entry to the analysis.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/timeline.h"
#include "analyze/process_view.h"
#include "analyze/report.h"
#include "base/result.h"
#include "trace/process.h"
#include "trace/reader.h"
#include "trace/record_sink.h"

namespace turnpike::analyze {

// How a file becomes processes. The analysis knows no kinds of files: who starts it brings what reads them.
struct FileReader {
  // The value of Source::kind for such a file.
  std::function<Result<std::string>(const std::filesystem::path&)> kind_of;
  // Asks for a sink for each process, in the order of the processes that it returns.
  std::function<Result<std::vector<trace::Process>>(
      const std::filesystem::path&, const std::function<trace::RecordSink&()>& sink_of_process, const trace::Progress&)>
      read;
};

// Whether a part of the process's file is damaged, cut off or makes no sense.
bool is_partly_unread(const trace::Process& process);

// The same, and notes in `remarks` what of each file cannot be read, however often it is read.
FileReader noting_unread(FileReader reader, std::shared_ptr<InputRemarks> remarks);

// The trace files of our own recorder and no others.
FileReader own_files();

// Analyzes runs together: every file of every input is one process or several. Files are read one after the other, and
// only one is in memory at a time. `progress` counts the bytes of all files. Fails when no file can be read; one that
// cannot beside others that can is a loss, and Source::inputs names it. Source::kind is that of the files, "mixed"
// where they differ. `rates`: what a link could do; may be empty. `watch`: sees each process while it is in memory.
Result<Report> analyze_run(const std::vector<std::filesystem::path>& inputs, const FileReader& reader,
                           const LinkRates& rates = {}, const trace::Progress& progress = {},
                           const ProcessWatcher& watch = {});

// A process of any source, its records loaded.
struct LoadedProcess {
  trace::Process process;
  Timeline timeline;
};

// A run with all of its processes in memory, for what they can only answer together.
struct LoadedRun {
  std::vector<LoadedProcess> processes;
  InputRemarks inputs;
};
// Reads runs together, as analyze_run does. Fails when no file can be read.
Result<LoadedRun> load_run(const std::vector<std::filesystem::path>& inputs, const FileReader& reader,
                           const trace::Progress& progress = {});

// Analyzes processes that are already in memory. The caller fills in source.paths.
Report analyze_processes(std::span<const LoadedProcess> processes, const LinkRates& rates = {},
                         const ProcessWatcher& watch = {});

}  // namespace turnpike::analyze
