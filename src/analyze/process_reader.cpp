#include "analyze/process_reader.h"

#include <utility>

#include "analyze/inputs.h"

namespace turnpike::analyze {

Result<ProcessReader> ProcessReader::open(const std::vector<std::filesystem::path>& inputs, FileReader reader) {
  for (const auto& input : inputs) {
    if (const auto files = trace::run_files(input); !files) return files.error();
  }
  std::vector<std::filesystem::path> files;
  const Inputs found(inputs);
  for (const InputFile& file : found.files()) files.push_back(file.path);
  return ProcessReader(std::move(files), std::move(reader));
}

Result<std::optional<LoadedProcess>> ProcessReader::next() {
  while (of_file_.empty()) {
    if (next_file_ == files_.size()) return std::optional<LoadedProcess>();
    std::deque<TimelineLoader> loaders;
    const auto next_loader = [&loaders]() -> trace::RecordSink& { return loaders.emplace_back(); };
    auto processes = reader_.read(files_[next_file_++], next_loader, {});
    if (!processes) return processes.error();
    for (trace::Process& process : *processes) {
      of_file_.push_back({std::move(process), loaders.front().take()});
      loaders.pop_front();
    }
  }
  std::optional<LoadedProcess> first(std::move(of_file_.front()));
  of_file_.pop_front();
  return first;
}

std::string ProcessReader::kind() const {
  if (next_file_ == 0) return "";
  const auto kind = reader_.kind_of(files_[next_file_ - 1]);
  return kind ? *kind : "";
}

}  // namespace turnpike::analyze
