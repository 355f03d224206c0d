// Where the functions of another process lie.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
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

// Of a function that the file exports.
Result<std::uint64_t> address_of(pid_t process, const MappedFile& file, const std::string& function);

}  // namespace turnpike::cli
