// The directory that a recording is written into: its name, its making, and its removal when nothing came of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// The name a recording of `command` gets by itself, without ".tpk": the script's (`torchrun -n 2 train.py`: train), the
// module's
// (`python -m pkg.train`: train), else the program's.
std::string default_run_name(const std::vector<std::string>& command);

class RunDirectory {
 public:
  // Makes NAME.tpk in the working directory, or NAME-2.tpk, NAME-3.tpk, ...: never one that exists.
  static Result<RunDirectory> make_new(const std::string& name);
  // Makes `path` with its parents, or takes it where it is an empty directory. One that is not empty is an Error,
  // unless `is_forced` and it holds a recording and nothing else: then the new one is made beside it.
  static Result<RunDirectory> make_at(const std::filesystem::path& path, bool is_forced);
  // That Error alone: make_at() may still fail.
  static Status check_is_free(const std::filesystem::path& path, bool is_forced);

  // The run's name, as the user would write it.
  const std::filesystem::path& path() const { return path_; }
  // Where it is recorded: path(), or beside it until take_place().
  const std::filesystem::path& recorded_path() const { return recorded_; }
  bool is_replacement() const { return recorded_ != path_; }
  bool has_recordings() const;
  // Replaces the old recording by the new one, where there is one. After an Error both are where they were.
  Status take_place();
  // Removes the directories that were made here, where they are still empty.
  void remove_if_empty() const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)), recorded_(path_) {}
  static Result<RunDirectory> make_beside(const std::filesystem::path& old);

  std::filesystem::path path_;
  std::filesystem::path recorded_;
  std::vector<std::filesystem::path> made_;  // outermost first
};

// Where a command shall write its recording.
struct RunPlace {
  std::string path;  // "": NAME.tpk in the working directory, or unless `is_forced` the next free NAME-2.tpk
  std::string name;
  bool is_forced = false;
};

// Makes it. nullopt: `command` has said why not, and ends with `exit_code`.
std::optional<RunDirectory> make_run_directory(const RunPlace& place, const std::string& command, int& exit_code);

}  // namespace turnpike::cli
