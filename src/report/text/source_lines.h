// Lines of the user's source files, for showing beside what they cause.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace turnpike::report {

class SourceLines {
 public:
  // `run_paths`: a source file newer than all of these has changed since it ran; its lines are not shown.
  explicit SourceLines(const std::vector<std::string>& run_paths);

  // The line (1 is the first) without its indent. nullopt when it cannot be read, when the path is relative (to a
  // folder that is not known any more) or when the file has changed since the run.
  std::optional<std::string> line(const std::string& file, std::uint32_t number) const;

 private:
  bool is_as_it_ran(const std::filesystem::path& file) const;

  std::optional<std::filesystem::file_time_type> run_time_;
};

}  // namespace turnpike::report
