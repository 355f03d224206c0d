// Files are told apart by device and inode; inputs belong together when they share time or program.
#include "analyze/inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "analyze/model/metadata_words.h"
#include "analyze/process_doubts.h"
#include "trace/format.h"
#include "trace/losses.h"
#include "trace/reader.h"

namespace turnpike::analyze {

void add_unread(const trace::Process& process, std::map<std::string, std::uint64_t>& unread) {
  for (const auto& [number, count] : process.losses) {
    const trace::LossInfo* const info = trace::find_loss(number);
    const bool is_unread = info != nullptr && info->effect == trace::LossEffect::kIncomplete;
    if (is_unread && count > 0) unread[std::string(info->name)] += count;
  }
  if (process.metadata.contains(trace::kUnusableMetadata)) ++unread[kUnrecordedProcess];
}

Inputs::Inputs(const std::vector<std::filesystem::path>& inputs) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> known;
  for (const auto& path : inputs) find_files(path, known);
}

void Inputs::find_files(const std::filesystem::path& path, std::set<std::pair<std::uint64_t, std::uint64_t>>& known) {
  inputs_.push_back({.name = path.string(), .span = {}});
  const auto found = trace::run_files(path);
  if (!found) {
    unreadable_.push_back(found.error().message);
    return;
  }
  std::size_t repeated_count = 0;
  for (const auto& file : *found) {
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0 && !known.emplace(status.st_dev, status.st_ino).second) {
      ++repeated_count;
    } else {
      files_.push_back({file, inputs_.size() - 1});
    }
  }
  if (repeated_count == 0) return;
  inputs_.back().is_repeated = repeated_count == found->size();
  notes_.push_back(path.string() + (inputs_.back().is_repeated ? " is given twice, and counted once."
                                                               : " holds files that are given twice, and counted "
                                                                 "once."));
}

std::uint64_t Inputs::size_bytes() const {
  return std::accumulate(files_.begin(), files_.end(), std::uint64_t{0}, [](std::uint64_t sum, const InputFile& file) {
    std::error_code failed;
    const auto size_bytes = std::filesystem::file_size(file.path, failed);
    return failed ? sum : sum + size_bytes;
  });
}

namespace {

// "rank 1" or "ranks 0, 2-7": those from 0 on that are not among these, which are below `count`; empty: none.
std::string missing_ranks(const std::set<std::int64_t>& ranks, std::int64_t count) {
  std::string text;
  std::int64_t missing_count = 0;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (first > last) return;
    missing_count += last - first + 1;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (first < last) text += "-" + std::to_string(last);
  };
  std::int64_t next = 0;
  for (const std::int64_t rank : ranks) {
    add(next, rank - 1);
    next = rank + 1;
  }
  add(next, count - 1);
  return text.empty() ? "" : (missing_count == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

void Inputs::add_failure(const Error& error) {
  unreadable_.push_back(error.message);
}

Inputs::Fingerprint Inputs::fingerprint_of(const trace::Process& process, const Timeline& timeline) {
  return {std::string(value_of(process, "host")),
          std::string(value_of(process, "program")),
          process.pid,
          process.start_realtime_ns,
          timeline.span ? timeline.span->end_ns : 0,
          timeline.calls.size(),
          timeline.transfers.size() + timeline.kernels.size()};
}

bool Inputs::add_process(const InputFile& file, const trace::Process& process, const Timeline& timeline) {
  Input& input = inputs_[file.input];
  const bool is_dated = process.start_realtime_ns > 0 && process.pid != 0;
  if (is_dated && timeline.span) {
    const auto [known, is_new] = known_.emplace(fingerprint_of(process, timeline), file.path);
    if (!is_new) {
      notes_.push_back(file.path.string() + " is a copy of " + known->second.string() + ", and counted once.");
      input.is_repeated = input.process_count == 0;
      return false;
    }
  }
  ++input.process_count;
  add_unread(process, unread_);
  for (std::string& doubt : doubts_about(process, timeline)) notes_.push_back(std::move(doubt));
  if (const auto program = process.metadata.find("program"); program != process.metadata.end()) {
    input.programs.insert(program->second);
  }
  has_profiled_stacks_ = has_profiled_stacks_ || process.metadata.contains("profiled_stacks");
  const auto rank = number_in<std::int64_t>(value_of(process, "rank"));
  const auto world_size = number_in<std::int64_t>(value_of(process, "world_size"));
  const std::string_view group = value_of(process, "process_group");
  if (!group.empty() && rank && world_size && *rank >= 0 && *rank < *world_size) {
    profiled_.try_emplace(std::string(group), Profiled{.world_size = *world_size}).first->second.ranks.insert(*rank);
  }
  const auto span = timeline.span;
  if (!span) return true;
  if (!input.span) input.span = span;
  input.span = Interval{std::min(input.span->start_ns, span->start_ns), std::max(input.span->end_ns, span->end_ns)};
  return true;
}

bool Inputs::is_nothing() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.process_count == 0; });
}

Error Inputs::first_error() const {
  return Error{unreadable_.empty() ? "There is nothing to analyze. Name a run to report on." : unreadable_.front()};
}

// Where nothing was recorded there is no time to share.
bool Inputs::is_related(const Input& a, const Input& b) {
  if (!a.span || !b.span) return true;
  if (a.span->start_ns <= b.span->end_ns && b.span->start_ns <= a.span->end_ns) return true;
  return std::any_of(a.programs.begin(), a.programs.end(),
                     [&](const std::string& program) { return b.programs.contains(program); });
}

InputRemarks Inputs::remarks() const {
  InputRemarks remarks{.unreadable = unreadable_, .notes = notes_, .unread = unread_};
  if (!unreadable_.empty()) remarks.unread[kUnreadableFile] = unreadable_.size();
  std::vector<const Input*> read;
  for (const Input& input : inputs_) {
    if (input.process_count > 0) read.push_back(&input);
    if (input.process_count == 0 && !input.is_repeated) remarks.is_input_missing = true;
  }
  for (std::size_t i = 1; i < read.size(); ++i) {
    const bool is_stranger = std::none_of(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(i),
                                          [&](const Input* earlier) { return is_related(*earlier, *read[i]); });
    if (!is_stranger) continue;
    remarks.notes.push_back(read[i]->name + " shares neither time nor program with " +
                            (i == 1 ? read.front()->name : "the runs before it") +
                            ": several runs are taken for ranks of one program. `turnpike diff` compares two.");
  }
  if (has_profiled_stacks_) {
    remarks.notes.push_back(
        "torch.profiler recorded the stacks of Python (with_stack=True), which slows the CPU down: the program itself "
        "launches faster than this shows.");
  }
  for (const auto& [group, job] : profiled_) {
    const std::string missing = missing_ranks(job.ranks, job.world_size);
    if (missing.empty()) continue;
    remarks.notes.push_back("Of a job of " + std::to_string(job.world_size) + " ranks there is no file of " + missing +
                            ": what they did is not in what follows. Name their files, too.");
  }
  return remarks;
}

}  // namespace turnpike::analyze
