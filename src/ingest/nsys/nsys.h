// Reads SQLite exports of Nsight Systems, of any schema from 2.x to 3.28: `nsys export --type sqlite`.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "ingest/sink_of_process.h"
#include "trace/process.h"
#include "trace/reader.h"

namespace turnpike::ingest {

// Every process of the export that used CUDA. Tables and columns that the file lacks are unknown facts, rows that make
// no sense and damage are losses. Fails when the file is no export, or holds nothing that could be read.
//
// Memory: the names, stacks and ranges of the file, 16 bytes for each call of the runtime and 120 for each of the
// driver, some 60 for each synchronisation and each asynchronous copy; SQLite itself needs a few MB. Nothing is written
// beside the file. `progress` counts the file's bytes.
Result<std::vector<trace::Process>> read_nsys(const std::filesystem::path& path, const SinkOfProcess& sink_of_process,
                                              const trace::Progress& progress = {});

}  // namespace turnpike::ingest
