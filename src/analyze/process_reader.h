// The processes of a run, one after the other, for outputs that ask for the next one instead of being handed all.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "base/result.h"

namespace turnpike::analyze {

// Not safe for several threads.
class ProcessReader {
 public:
  // A file that several inputs lead to is read once. Fails when an input holds no file.
  static Result<ProcessReader> open(const std::vector<std::filesystem::path>& inputs, FileReader reader);

  // The next process in the order of the files; nullopt: there are no more. Memory: the processes of one file. Fails
  // when a file cannot be read: part of a table would pass for the whole.
  Result<std::optional<LoadedProcess>> next();

  // As Source::kind, of the file that the last process came from.
  std::string kind() const;

 private:
  ProcessReader(std::vector<std::filesystem::path> files, FileReader reader)
      : files_(std::move(files)), reader_(std::move(reader)) {}

  std::vector<std::filesystem::path> files_;
  FileReader reader_;
  std::size_t next_file_ = 0;
  std::deque<LoadedProcess> of_file_;
};

}  // namespace turnpike::analyze
