// Finds the files, reads them, and hands their processes to the analysis one by one.
#include "analyze/analyze.h"

#include <deque>
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

// The files of all inputs; the first error, and how many inputs have none.
struct Files {
  std::vector<Path> paths;
  std::optional<Error> first_error;
  std::uint64_t unreadable_count = 0;

  void fail(const Error& error) {
    ++unreadable_count;
    keep_first(first_error, error);
  }
  std::uint64_t size_bytes() const {
    return std::accumulate(paths.begin(), paths.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Path& file) { return sum + size_of(file); });
  }
};

Files files_of(const std::vector<Path>& inputs) {
  Files files;
  for (const Path& input : inputs) {
    auto found = trace::run_files(input);
    if (!found) {
      files.fail(found.error());
    } else {
      files.paths.insert(files.paths.end(), found->begin(), found->end());
    }
  }
  return files;
}

// Reads one file into the analysis; gives its kind.
Result<std::string> add_file(RunAnalysis& analysis, const Path& file, const FileReader& reader,
                             const trace::Progress& progress) {
  auto kind = reader.kind_of(file);
  if (!kind) return kind;
  std::deque<TimelineLoader> loaders;
  const auto next_loader = [&loaders]() -> trace::RecordSink& { return loaders.emplace_back(); };
  const auto processes = reader.read(file, next_loader, progress);
  if (!processes) return processes.error();
  for (std::size_t i = 0; i < processes->size(); ++i) {
    analysis.add((*processes)[i], loaders.front().take());
    loaders.pop_front();
  }
  return kind;
}

}  // namespace

FileReader own_files() {
  return {.kind_of = [](const Path&) -> Result<std::string> { return std::string("turnpike"); },
          .read = [](const Path& file, const auto& sink_of_process,
                     const auto& progress) -> Result<std::vector<trace::Process>> {
            auto process = trace::read_file(file, sink_of_process(), progress);
            if (!process) return process.error();
            std::vector<trace::Process> processes;
            processes.push_back(std::move(*process));
            return processes;
          }};
}

Result<Report> analyze_run(const std::vector<Path>& inputs, const FileReader& reader, const LinkRates& rates,
                           const trace::Progress& progress) {
  Files files = files_of(inputs);
  const std::uint64_t all_bytes = files.size_bytes();
  RunAnalysis analysis(rates);
  std::uint64_t read_bytes = 0;
  std::string kind;
  for (const Path& file : files.paths) {
    const auto read_kind = add_file(analysis, file, reader, part_of(progress, read_bytes, all_bytes));
    read_bytes += size_of(file);
    if (!read_kind) {
      files.fail(read_kind.error());
    } else {
      kind = kind.empty() || kind == *read_kind ? *read_kind : "mixed";
    }
  }
  if (kind.empty()) return files.first_error.value_or(Error{"There is nothing to analyze. Name a run to report on."});
  analysis.count_loss(kUnreadableFile, files.unreadable_count);
  Report report = analysis.finish();
  report.source.kind = kind;
  for (const Path& input : inputs) report.source.paths.push_back(input.string());
  return report;
}

Report analyze_processes(std::span<const LoadedProcess> processes, const LinkRates& rates) {
  RunAnalysis analysis(rates);
  for (const LoadedProcess& loaded : processes) analysis.add(loaded.process, loaded.timeline);
  return analysis.finish();
}

}  // namespace turnpike::analyze
