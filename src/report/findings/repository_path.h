// Files of a run as paths inside a repository: what annotations of code review go by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "analyze/compare/figures.h"

namespace turnpike::report {

struct CodeLine {
  std::string path;  // relative, with '/'; bytes as the file system has them
  std::uint32_t line = 1;
};

// Whether this process is a step of a job in GitHub Actions.
bool is_in_github_actions();

class Repository {
 public:
  // `root`: its top folder.
  explicit Repository(const std::filesystem::path& root);
  // That of this process: in GitHub Actions the checkout, else the working directory.
  static Repository here();

  // `file` relative to the root. A file recorded elsewhere (another machine, a container) is the one below the root
  // whose path ends in as many of the same folders as possible; looks at the file system. nullopt: it is not in here.
  std::optional<std::string> relative(const std::string& file) const;

  // The line of a place, or the first line of its stack that is in the repository: who called the library.
  std::optional<CodeLine> line_of(const analyze::Item& item) const;

 private:
  std::filesystem::path root_;
};

}  // namespace turnpike::report
