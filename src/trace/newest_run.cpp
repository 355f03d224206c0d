// By the times of the trace files: the directory's own time tells only when the last of them was made.
#include "trace/newest_run.h"

#include <algorithm>
#include <system_error>

#include "trace/reader.h"

namespace turnpike::trace {
namespace {

namespace fs = std::filesystem;

std::optional<fs::file_time_type> time_of(const fs::path& run) {
  const auto files = run_files(run);
  if (!files) return std::nullopt;
  std::optional<fs::file_time_type> latest;
  for (const fs::path& file : *files) {
    std::error_code failed;
    const auto written = fs::last_write_time(file, failed);
    if (!failed) latest = std::max(latest.value_or(written), written);
  }
  return latest;
}

}  // namespace

std::optional<fs::path> newest_run_here() {
  std::optional<fs::path> newest;
  std::optional<fs::file_time_type> newest_time;
  std::error_code failed;
  for (fs::directory_iterator entry(".", failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;  // what cannot be looked at is no run
    if (entry->path().extension() != ".tpk" || !entry->is_directory(ignored)) continue;
    const auto time = time_of(entry->path());
    // Of equals the one whose name comes first, whatever the order of the folder.
    const fs::path name = entry->path().filename();
    if (!time || (newest && (*time < *newest_time || (*time == *newest_time && name > *newest)))) continue;
    newest = name;
    newest_time = time;
  }
  return newest;
}

}  // namespace turnpike::trace
