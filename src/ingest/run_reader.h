// Opens a run of any kind: our own recordings, torch.profiler's traces, exports of Nsight Systems.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "ingest/sink_of_process.h"
#include "trace/process.h"
#include "trace/reader.h"

namespace turnpike::ingest {

// "turnpike", "kineto" (torch.profiler) or "nsys" (Nsight Systems), told by the content and never by the name. A
// directory is "turnpike" when it holds trace files of ours. Fails for everything else, saying what to do.
Result<std::string> kind_of(const std::filesystem::path& path);

// Reads one file of any kind. Damage inside is a loss; fails when the file is none of the three or holds nothing.
// Memory: what the processes' definitions need, and what their reader says. `progress` counts the bytes of the file.
Result<std::vector<trace::Process>> read_file(const std::filesystem::path& path, const SinkOfProcess& sink_of_process,
                                              const trace::Progress& progress = {});

}  // namespace turnpike::ingest
