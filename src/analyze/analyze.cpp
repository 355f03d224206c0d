// Finds the files, reads them, and hands their processes to the analysis one by one.
#include "analyze/analyze.h"

#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "analyze/run_analysis.h"

namespace turnpike::analyze {
namespace {

using Path = std::filesystem::path;

std::uint64_t size_of(const Path& file) {
  std::error_code error;
  const auto size_bytes = std::filesystem::file_size(file, error);
  return error ? 0 : size_bytes;
}

// The progress of one file inside of that of all.
trace::Progress part_of(const trace::Progress& progress, std::uint64_t before_bytes, std::uint64_t all_bytes) {
  if (!progress) return {};
  return [&progress, before_bytes, all_bytes](std::uint64_t done_bytes, std::uint64_t) {
    progress(before_bytes + done_bytes, all_bytes);
  };
}

// Keeps the first of several errors: what is said when nothing could be read.
void keep_first(std::optional<Error>& first, const Error& error) {
  if (!first) first = error;
}

}  // namespace

Result<Report> analyze_run(const std::vector<Path>& inputs, const trace::Progress& progress) {
  std::vector<Path> files;
  std::optional<Error> first_error;
  std::uint64_t unreadable_count = 0;
  for (const Path& input : inputs) {
    auto found = trace::run_files(input);
    if (found) {
      files.insert(files.end(), found->begin(), found->end());
    } else {
      ++unreadable_count;
      keep_first(first_error, found.error());
    }
  }
  const std::uint64_t all_bytes =
      std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const Path& file) { return sum + size_of(file); });
  RunAnalysis analysis;
  std::uint64_t read_bytes = 0;
  std::size_t read_count = 0;
  for (const Path& file : files) {
    TimelineLoader loader;
    const auto process = trace::read_file(file, loader, part_of(progress, read_bytes, all_bytes));
    read_bytes += size_of(file);
    if (process) {
      analysis.add(*process, loader.take());
      ++read_count;
    } else {
      ++unreadable_count;
      keep_first(first_error, process.error());
    }
  }
  if (read_count == 0) return first_error.value_or(Error{"There is nothing to analyze. Name a run to report on."});
  analysis.count_loss(kUnreadableFile, unreadable_count);
  Report report = analysis.finish();
  report.source.kind = "turnpike";
  for (const Path& input : inputs) report.source.paths.push_back(input.string());
  return report;
}

Report analyze_processes(std::span<const LoadedProcess> processes) {
  RunAnalysis analysis;
  for (const LoadedProcess& loaded : processes) analysis.add(loaded.process, loaded.timeline);
  return analysis.finish();
}

}  // namespace turnpike::analyze
