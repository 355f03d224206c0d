// Compares device and inode.
#include "cli/same_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
using Identity = std::pair<dev_t, ino_t>;

// nullopt: there is no such file, or it holds nothing that could be lost (a pipe, a device).
std::optional<Identity> identity_of(const fs::path& path) {
  struct stat found{};
  const int failed = path == "-" ? ::fstat(STDOUT_FILENO, &found) : ::stat(path.c_str(), &found);
  if (failed != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

Error is_input(const fs::path& output, const fs::path& input) {
  return Error{"cannot write " + (output == "-" ? std::string("standard output") : output.string()) +
               ": it is an input of this command (" + input.string() + "). Name another file."};
}

Status check_is_outside(const fs::path& output, const std::vector<fs::path>& runs) {
  std::error_code failed;
  for (fs::path outer = fs::weakly_canonical(output, failed); !failed; outer = outer.parent_path()) {
    for (const fs::path& run : runs) {
      if (fs::is_directory(run, failed) && fs::equivalent(outer, run, failed)) {
        return Error{"cannot write " + output.string() + ": " + run.string() +
                     " is a run that is read, and what lies in it is taken for a part of it. Name another place."};
      }
    }
    if (outer == outer.parent_path()) break;
    failed.clear();
  }
  return {};
}

}  // namespace

Status check_is_no_input(const fs::path& output, const std::vector<fs::path>& inputs) {
  if (const auto written = identity_of(output)) {
    for (const fs::path& input : inputs) {
      if (identity_of(input) == written) return is_input(output, input);
      std::error_code failed;
      for (fs::directory_iterator entry(input, failed), end; !failed && entry != end; entry.increment(failed)) {
        if (identity_of(entry->path()) == written) return is_input(output, entry->path());
      }
    }
  }
  return output == "-" ? Status() : check_is_outside(output, inputs);
}

}  // namespace turnpike::cli
