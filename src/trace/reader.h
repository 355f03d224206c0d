// Reads trace files: the readable part of whatever is there, with what could not be read counted as losses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/result.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::trace {

// Called now and then with the bytes read so far and the bytes in all.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// Reads one file. Memory: the definitions and one chunk; records go to `sink` and are not kept.
// Fails when the file is no trace at all (missing, unreadable, empty, other magic, newer version); damage inside is a
// loss.
Result<Process> read_file(const std::filesystem::path& path, RecordSink& sink, const Progress& progress = {});

// The trace files of a run, sorted by name (rank2 before rank10): those in the directory `run` (one *.tpt per process),
// or `run` itself when it is a file. Fails when there is none; other things in the directory are passed over.
Result<std::vector<std::filesystem::path>> run_files(const std::filesystem::path& run);

inline constexpr const char* kFileExtension = ".tpt";

}  // namespace turnpike::trace
