// A file that appears whole under its name, or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace turnpike::cli {

// Written beside its place under another name and renamed by commit(). Without commit(), on an error, and when the
// process is ended by Ctrl-C, SIGTERM or SIGHUP meanwhile, that other file is removed. It has the mode of a file that
// it replaces, and links are followed to that file, but for those that another user may have laid. One at a time in a
// process.
class OutputFile {
 public:
  // "-" is standard output. What exists and is no regular file (a pipe, /dev/null) is written to as it is.
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // After a failure everything more is dropped; commit() tells. A reader that has seen enough (`| head`) is none.
  void write(std::string_view bytes);
  bool has_failed() const { return error_number_ != 0; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  Status commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path unfinished, std::FILE* file);
  void discard();

  std::filesystem::path path_;
  std::filesystem::path unfinished_;  // empty: written directly
  std::FILE* file_;
  int error_number_ = 0;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace turnpike::cli
