// Which folders are made is asked before they are.
#include "cli/output_folder.h"

#include <system_error>
#include <utility>

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> missing_of(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code failed;
  for (fs::path outer = folder; !outer.empty() && !fs::exists(outer, failed); outer = outer.parent_path()) {
    if (outer.has_filename()) missing.push_back(outer);
  }
  return missing;
}

}  // namespace

OutputFolder::OutputFolder(std::vector<fs::path> made) : made_(std::move(made)) {}

Result<OutputFolder> OutputFolder::create(const fs::path& folder) {
  OutputFolder output(missing_of(folder));
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return Error{folder.string() + " cannot be made: " + failed.message() + "."};
  return output;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;  // a folder that holds files stays
  for (const fs::path& folder : made_) fs::remove(folder, ignored);
}

}  // namespace turnpike::cli
