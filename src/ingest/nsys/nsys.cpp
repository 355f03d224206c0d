// Reads the tables in the order in which they explain each other: names and ranges, then calls, then what these caused.
#include "ingest/nsys/nsys.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "ingest/nsys/calls.h"
#include "ingest/nsys/device_work.h"
#include "ingest/nsys/export.h"
#include "ingest/nsys/ranges.h"
#include "ingest/nsys/sqlite_file.h"
#include "ingest/nsys/stacks.h"
#include "ingest/nsys/target.h"

namespace turnpike::ingest {
namespace {

using Path = std::filesystem::path;

// The tables that grow with the program's run; all others are small.
constexpr const char* kLongTables[] = {
    "NVTX_EVENTS",
    "CUDA_CALLCHAINS",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUDA_GRAPH_NODE_EVENTS",
};

// Rows count as much as any other, because what they weigh in bytes is not known.
void show_progress(NsysExport& from, const Path& path, const trace::Progress& progress) {
  if (!progress) return;
  std::error_code failed;
  const std::uint64_t size_bytes = std::filesystem::file_size(path, failed);
  std::uint64_t row_count = 1;
  for (const char* table : kLongTables) row_count += from.file.about_row_count(table);
  if (failed) return;
  from.on_progress = [&progress, size_bytes, row_count](std::uint64_t rows_done) {
    const double part = std::min(1.0, static_cast<double>(rows_done) / static_cast<double>(row_count));
    progress(static_cast<std::uint64_t>(part * static_cast<double>(size_bytes)), size_bytes);
  };
}

bool looks_like_export(const SqliteFile& file) {
  return file.has_table("META_DATA_EXPORT") || file.has_table("StringIds") || file.has_table("NVTX_EVENTS") ||
         file.has_table("CUPTI_ACTIVITY_KIND_RUNTIME") || file.has_table("CUPTI_ACTIVITY_KIND_MEMCPY");
}

Error nothing_read(const NsysExport& from, const Path& path) {
  if (from.is_damaged()) {
    return Error{"Cannot read " + path.string() +
                 ": the database is damaged, and nothing before the damage could be read. Copy it again, or export the "
                 "report again with `nsys export --type sqlite`."};
  }
  return Error{
      path.string() +
      " is an export of Nsight Systems without CUDA in it. Record again with `nsys profile --trace=cuda,nvtx`, "
      "and export that."};
}

}  // namespace

Result<std::vector<trace::Process>> read_nsys(const Path& path, const SinkOfProcess& sink_of_process,
                                              const trace::Progress& progress) {
  auto file = SqliteFile::open(path);
  if (!file) return file.error();
  if (!looks_like_export(*file)) {
    return Error{
        path.string() +
        " is an SQLite database, but no export of Nsight Systems. Give the file that `nsys export --type sqlite` "
        "writes."};
  }
  const std::string name = path.string();
  NsysExport from(std::move(*file), name, sink_of_process);
  show_progress(from, path, progress);
  NsysStacks stacks(from);
  NsysRanges ranges(from, stacks);
  NsysCalls calls(from, stacks, ranges);
  stacks.read_callchains();
  ranges.read();
  calls.read();
  NsysDeviceWork(from, stacks, ranges, calls).read();
  if (from.processes.all().empty()) return nothing_read(from, path);
  ranges.give();
  ranges.give_samples();
  describe_target(from);
  // After the names that the system knows: of two names of a thread the last counts.
  ranges.give_thread_names();
  return from.processes.take();
}

}  // namespace turnpike::ingest
