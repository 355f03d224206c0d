// A folder that several output files are written into.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// Makes the folder and its missing parents. The destructor removes those that are empty, so a command that fails leaves
// no folder.
class OutputFolder {
 public:
  static Result<OutputFolder> create(const std::filesystem::path& folder);
  OutputFolder(OutputFolder&& other) noexcept = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

 private:
  explicit OutputFolder(std::vector<std::filesystem::path> made);

  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace turnpike::cli
