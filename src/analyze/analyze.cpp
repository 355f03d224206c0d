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

// The files of all inputs; what is wrong with those that cannot be read.
struct Files {
  std::vector<Path> paths;
  std::vector<Error> errors;

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
      files.errors.push_back(found.error());
    } else {
      files.paths.insert(files.paths.end(), found->begin(), found->end());
    }
  }
  return files;
}

using TakeProcess = std::function<void(trace::Process, Timeline)>;

// Hands on the processes of one file; gives its kind.
Result<std::string> read_file(const Path& file, const FileReader& reader, const trace::Progress& progress,
                              const TakeProcess& take) {
  auto kind = reader.kind_of(file);
  if (!kind) return kind;
  std::deque<TimelineLoader> loaders;
  const auto next_loader = [&loaders]() -> trace::RecordSink& { return loaders.emplace_back(); };
  auto processes = reader.read(file, next_loader, progress);
  if (!processes) return processes.error();
  for (trace::Process& process : *processes) {
    take(std::move(process), loaders.front().take());
    loaders.pop_front();
  }
  return kind;
}

struct ReadInputs {
  std::string kind;  // "mixed" where files differ
  std::vector<Error> errors;
};

// One file after the other. Fails when none can be read.
Result<ReadInputs> read_inputs(const std::vector<Path>& inputs, const FileReader& reader,
                               const trace::Progress& progress, const TakeProcess& take) {
  Files files = files_of(inputs);
  const std::uint64_t all_bytes = files.size_bytes();
  ReadInputs read{{}, std::move(files.errors)};
  std::uint64_t read_bytes = 0;
  for (const Path& file : files.paths) {
    const auto kind = read_file(file, reader, part_of(progress, read_bytes, all_bytes), take);
    read_bytes += size_of(file);
    if (!kind) {
      read.errors.push_back(kind.error());
    } else {
      read.kind = read.kind.empty() || read.kind == *kind ? *kind : "mixed";
    }
  }
  if (!read.kind.empty()) return read;
  return read.errors.empty() ? Error{"There is nothing to analyze. Name a run to report on."} : read.errors.front();
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
  RunAnalysis analysis(rates);
  const auto read = read_inputs(inputs, reader, progress, [&](const trace::Process& process, const Timeline& timeline) {
    analysis.add(process, timeline);
  });
  if (!read) return read.error();
  analysis.count_loss(kUnreadableFile, read->errors.size());
  Report report = analysis.finish();
  report.source.kind = read->kind;
  for (const Path& input : inputs) report.source.paths.push_back(input.string());
  return report;
}

Result<LoadedRun> load_run(const std::vector<Path>& inputs, const FileReader& reader, const trace::Progress& progress) {
  LoadedRun run;
  auto read = read_inputs(inputs, reader, progress, [&](trace::Process process, Timeline timeline) {
    run.processes.push_back({std::move(process), std::move(timeline)});
  });
  if (!read) return read.error();
  run.unreadable = std::move(read->errors);
  return run;
}

Report analyze_processes(std::span<const LoadedProcess> processes, const LinkRates& rates) {
  RunAnalysis analysis(rates);
  for (const LoadedProcess& loaded : processes) analysis.add(loaded.process, loaded.timeline);
  return analysis.finish();
}

}  // namespace turnpike::analyze
