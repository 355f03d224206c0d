// Pieces of source files, as a recording holds them. Outputs show source from here alone: a recording comes from
// anywhere, and must not choose which files of this machine are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace turnpike {

class SourceText {
 public:
  // Whole lines of a file, from `first_line` on (1 is the first). `version` is the hash of the whole file.
  void add(const std::string& file, std::string version, std::uint32_t first_line, std::string text);
  // What another process of the run has. Of a file that differs between processes nothing is shown: which of them a
  // line of the report belongs to is not known.
  void add(const SourceText& other);

  // The line without its indent. nullopt where it was not recorded, or is blank.
  std::optional<std::string> line(const std::string& file, std::uint32_t number) const;
  // The lines from `first` to `last` that were recorded, by number, as they are. Of a longer line than 4096 bytes,
  // which nobody wrote by hand, the start.
  std::map<std::uint32_t, std::string> lines(const std::string& file, std::uint32_t first, std::uint32_t last) const;

  using Place = std::pair<std::string, std::uint32_t>;  // version and first line
  using Pieces = std::map<Place, std::string>;
  const std::map<std::string, Pieces>& files() const { return files_; }

 private:
  std::map<std::string, Pieces> files_;
};

}  // namespace turnpike
