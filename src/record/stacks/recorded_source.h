// The source around the lines that frames name, for the recording: a report shows no source from anywhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::record {

// One thread at a time. Reads only files of Python that the program itself consists of: regular ones, called *.py,
// outside of installed packages and the standard library.
class RecordedSource {
 public:
  // The program runs files as they were at `as_of_ns` (process_start_ns): files that changed later are left out.
  // kUnknownTime: no file is read.
  explicit RecordedSource(std::int64_t as_of_ns) : as_of_ns_(as_of_ns) {}
  std::int64_t as_of_ns() const noexcept { return as_of_ns_; }
  // The payload of a frames chunk (trace/format.h), as it goes to the recording.
  void note_frames(std::span<const std::byte> entries);

  using TextOf = std::function<std::string_view(std::uint32_t string)>;
  // The payload of a source text chunk: what was noted since the last time. Takes 0.1 s at most, and a file.
  std::vector<std::byte> read(const TextOf& text_of);
  // The value of the metadata key `source`: how many files were kept, and why others were not.
  std::string summary() const;

 private:
  enum class Outcome { kKept, kNotOfProgram, kUnreadable, kChanged, kLarge, kNotText, kNoRoom };
  struct File {
    std::vector<std::uint32_t> lines{};
    bool has_new_lines = false;
    Outcome outcome = Outcome::kNotOfProgram;
  };

  void note(std::uint32_t file, std::uint32_t line);
  Outcome add_file(const std::string& path, std::uint32_t string, const std::vector<std::uint32_t>& lines,
                   std::vector<std::byte>& payload);
  Outcome read_file(int file, std::string& text) const;
  Outcome add_text(const std::string& text, std::uint32_t file, const std::vector<std::uint32_t>& lines,
                   std::vector<std::byte>& payload);

  std::int64_t as_of_ns_;
  std::map<std::uint32_t, File> files_;  // by string
  std::size_t kept_bytes_ = 0;
};

}  // namespace turnpike::record
