// Finds the files, reads them, and hands their processes to the analysis one by one.
#include "analyze/analyze.h"

#include <deque>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "analyze/inputs.h"
#include "analyze/run_analysis.h"

namespace turnpike::analyze {
namespace {

using Path = std::filesystem::path;

// The progress of one file inside of that of all.
trace::Progress part_of(const trace::Progress& progress, std::uint64_t before_bytes, std::uint64_t all_bytes) {
  if (!progress) return {};
  return [&progress, before_bytes, all_bytes](std::uint64_t done_bytes, std::uint64_t) {
    progress(before_bytes + done_bytes, all_bytes);
  };
}

using TakeProcess = std::function<void(trace::Process, Timeline)>;

// Hands on the processes of one file; gives its kind.
Result<std::string> read_file(const Path& file, const FileReader& reader, const trace::Progress& progress,
                              const TakeProcess& take) {
  auto kind = reader.kind_of(file);
  if (!kind) return kind;
  std::deque<TimelineLoader> loaders;
  const auto next_loader = [&loaders]() -> trace::RecordSink& { return loaders.emplace_back(); };
  const auto note_progress = [&](std::uint64_t done_bytes, std::uint64_t all_bytes) {
    if (done_bytes > 0) {
      const double share_read = static_cast<double>(done_bytes) / static_cast<double>(all_bytes);
      // A file may interleave its processes.
      for (TimelineLoader& loader : loaders) loader.make_room(share_read);
    }
    if (progress) progress(done_bytes, all_bytes);
  };
  auto processes = reader.read(file, next_loader, note_progress);
  if (!processes) return processes.error();
  for (trace::Process& process : *processes) {
    take(std::move(process), loaders.front().take());
    loaders.pop_front();
  }
  return kind;
}

struct ReadInputs {
  std::string kind;  // "mixed" where files differ
  InputRemarks remarks;
};

// One file after the other. Fails when none can be read.
Result<ReadInputs> read_inputs(const std::vector<Path>& paths, const FileReader& reader,
                               const trace::Progress& progress, const TakeProcess& take) {
  Inputs inputs(paths);
  const std::uint64_t all_bytes = inputs.size_bytes();
  std::uint64_t read_bytes = 0;
  ReadInputs read;
  for (const InputFile& file : inputs.files()) {
    bool is_empty = true;
    const auto take_noted = [&](trace::Process process, Timeline timeline) {
      is_empty = false;
      if (inputs.add_process(file, process, timeline)) take(std::move(process), std::move(timeline));
    };
    const auto kind = read_file(file.path, reader, part_of(progress, read_bytes, all_bytes), take_noted);
    std::error_code failed;
    const auto size_bytes = std::filesystem::file_size(file.path, failed);
    read_bytes += failed ? 0 : size_bytes;
    if (!kind) {
      inputs.add_failure(kind.error());
    } else if (is_empty) {
      inputs.add_failure(Error{file.path.string() + " holds no process."});
    } else {
      read.kind = read.kind.empty() || read.kind == *kind ? *kind : "mixed";
    }
  }
  if (inputs.is_nothing()) return inputs.first_error();
  read.remarks = inputs.remarks();
  return read;
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

bool is_partly_unread(const trace::Process& process) {
  std::map<std::string, std::uint64_t> unread;
  add_unread(process, unread);
  return !unread.empty();
}

FileReader noting_unread(FileReader reader, std::shared_ptr<InputRemarks> remarks) {
  // Copies of the reader share it: a file is noted once, whichever of them reads it.
  const auto noted = std::make_shared<std::set<Path>>();
  const auto read = [plain = std::move(reader.read), remarks = std::move(remarks), noted](
                        const Path& file, const auto& sink_of_process, const auto& progress) {
    auto processes = plain(file, sink_of_process, progress);
    if (processes && noted->insert(file).second) {
      for (const trace::Process& process : *processes) add_unread(process, remarks->unread);
    }
    return processes;
  };
  return {.kind_of = std::move(reader.kind_of), .read = read};
}

Result<Report> analyze_run(const std::vector<Path>& inputs, const FileReader& reader, const LinkRates& rates,
                           const trace::Progress& progress, const ProcessWatcher& watch) {
  RunAnalysis analysis(rates, watch);
  auto read = read_inputs(inputs, reader, progress, [&](const trace::Process& process, const Timeline& timeline) {
    analysis.add(process, timeline);
  });
  if (!read) return read.error();
  analysis.count_loss(kUnreadableFile, read->remarks.unreadable.size());
  Report report = analysis.finish(read->kind);
  report.source.inputs = std::move(read->remarks);
  for (const Path& input : inputs) report.source.paths.push_back(input.string());
  return report;
}

Result<LoadedRun> load_run(const std::vector<Path>& inputs, const FileReader& reader, const trace::Progress& progress) {
  LoadedRun run;
  auto read = read_inputs(inputs, reader, progress, [&](trace::Process process, Timeline timeline) {
    run.processes.push_back({std::move(process), std::move(timeline)});
  });
  if (!read) return read.error();
  run.inputs = std::move(read->remarks);
  return run;
}

Report analyze_processes(std::span<const LoadedProcess> processes, const LinkRates& rates,
                         const ProcessWatcher& watch) {
  RunAnalysis analysis(rates, watch);
  for (const LoadedProcess& loaded : processes) analysis.add(loaded.process, loaded.timeline);
  return analysis.finish();
}

}  // namespace turnpike::analyze
