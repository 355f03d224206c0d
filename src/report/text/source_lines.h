// Lines of the user's source files, for showing beside what they cause.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
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
  // The lines from `first` (1 is the first) on, as they are, at most `count` and up to the end of the file. Empty where
  // line() is nullopt.
  std::vector<std::string> lines(const std::string& file, std::uint32_t first, std::uint32_t count) const;

 private:
  std::optional<std::ifstream> opened_at(const std::string& file, std::uint32_t number) const;
  bool is_as_it_ran(const std::filesystem::path& file) const;

  std::optional<std::filesystem::file_time_type> run_time_;
};

}  // namespace turnpike::report
