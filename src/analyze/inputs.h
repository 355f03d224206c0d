// The inputs of an analysis: their files, each once, and what is doubtful about taking them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "base/result.h"
#include "trace/process.h"

namespace turnpike::analyze {

struct InputFile {
  std::filesystem::path path;
  std::size_t input = 0;  // index of the input that it belongs to
};

// Adds the losses of parts of the process's file that could not be read, by name, as InputRemarks::unread.
void add_unread(const trace::Process& process, std::map<std::string, std::uint64_t>& unread);

class Inputs {
 public:
  // Finds the files. One that several inputs lead to, by whatever name, belongs to the first of them.
  explicit Inputs(const std::vector<std::filesystem::path>& inputs);

  const std::vector<InputFile>& files() const { return files_; }
  std::uint64_t size_bytes() const;

  // What became of a file: it could not be read, or it held this process. False: a copy of this recording was read
  // before, and the process must not count again.
  void add_failure(const Error& error);
  bool add_process(const InputFile& file, const trace::Process& process, const Timeline& timeline);

  // Nothing could be read. Then the reason is first_error().
  bool is_nothing() const;
  Error first_error() const;
  InputRemarks remarks() const;

 private:
  struct Input {
    std::string name;
    std::size_t process_count = 0;
    bool is_repeated = false;          // all of its files belong to inputs before it
    std::optional<Interval> span;      // of its processes' records
    std::set<std::string> programs{};  // as the processes tell them
  };

  // Tells recordings of processes apart: machine, program, process, when the recording began and ended, and how much is
  // in it.
  using Fingerprint =
      std::tuple<std::string, std::string, std::uint32_t, std::int64_t, std::int64_t, std::size_t, std::size_t>;

  static Fingerprint fingerprint_of(const trace::Process& process, const Timeline& timeline);
  // The ranks of a job of which files of torch.profiler are here: each holds one.
  struct Profiled {
    std::int64_t world_size;
    std::set<std::int64_t> ranks{};
  };

  void find_files(const std::filesystem::path& path, std::set<std::pair<std::uint64_t, std::uint64_t>>& known);
  static bool is_related(const Input& a, const Input& b);

  std::vector<Input> inputs_;
  std::map<std::string, Profiled> profiled_;  // by process group
  bool has_profiled_stacks_ = false;
  std::vector<InputFile> files_;
  std::map<Fingerprint, std::filesystem::path> known_;  // the file in which each was read first
  std::vector<std::string> unreadable_;
  std::vector<std::string> notes_;
  std::map<std::string, std::uint64_t> unread_;
};

}  // namespace turnpike::analyze
