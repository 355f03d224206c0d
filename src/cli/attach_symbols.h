// Where functions and sections of another process lie.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// A file in the memory of a process, from its first byte on.
struct MappedFile {
  std::string path;  // as the process sees it
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // behind its last part

  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

// Executables and libraries, by rising addresses. {} where the process has ended, or is not ours.
std::vector<MappedFile> mapped_files(pid_t process);

// What a path of the process leads to, wherever its root is.
std::string path_in(pid_t process, const std::string& path);

// Whether both paths lead to one file.
bool is_same_file(const std::string& one, const std::string& other);

// An executable or library that a process has mapped, as its file is now.
class ElfFile {
 public:
  static Result<ElfFile> open(pid_t process, const MappedFile& file);

  // In the memory of the process; nullopt if the file has none of this name. A function: one that the file exports.
  std::optional<std::uint64_t> address_of_function(const std::string& name) const;
  std::optional<std::uint64_t> address_of_section(const std::string& name) const;

 private:
  ElfFile(MappedFile file, std::string bytes) : file_(std::move(file)), bytes_(std::move(bytes)) {}

  MappedFile file_;
  std::string bytes_;
};

}  // namespace turnpike::cli
