#include "report/text/source_lines.h"

#include <fstream>
#include <limits>
#include <system_error>

namespace turnpike::report {
namespace {

namespace fs = std::filesystem;

// A line of source longer than this is generated, and no help to anybody.
constexpr std::size_t kMaxLineBytes = 4096;

// When the run was last written to. A directory's own time is only that of its last new file.
std::optional<fs::file_time_type> time_of_run(const fs::path& run) {
  std::error_code failed;
  fs::file_time_type latest = fs::last_write_time(run, failed);
  if (failed) return std::nullopt;
  if (!fs::is_directory(run, failed)) return latest;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, failed)) {
    const fs::file_time_type time = entry.last_write_time(failed);
    if (!failed && time > latest) latest = time;
  }
  return latest;
}

bool skip_lines(std::ifstream& stream, std::uint32_t count) {
  for (; count > 0 && stream; --count) stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  return stream.good();
}

// Up to the end of the line, which is read. Of a longer one only the start is given.
std::string next_line(std::ifstream& stream) {
  std::string text;
  for (char c = 0; stream.get(c) && c != '\n';) {
    if (text.size() < kMaxLineBytes) text += c;
  }
  return text;
}

std::optional<std::string> without_indent(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return std::nullopt;
  const std::size_t last = line.find_last_not_of(" \t\r");
  return line.substr(first, last - first + 1);
}

}  // namespace

SourceLines::SourceLines(const std::vector<std::string>& run_paths) {
  for (const std::string& path : run_paths) {
    const auto time = time_of_run(path);
    if (time && (!run_time_ || *time > *run_time_)) run_time_ = time;
  }
}

bool SourceLines::is_as_it_ran(const fs::path& file) const {
  std::error_code failed;
  // Opening a pipe or a device could block.
  if (!fs::is_regular_file(file, failed)) return false;
  const fs::file_time_type changed = fs::last_write_time(file, failed);
  return !failed && run_time_ && changed <= *run_time_;
}

std::optional<std::ifstream> SourceLines::opened_at(const std::string& file, std::uint32_t number) const {
  if (number == 0 || !fs::path(file).is_absolute() || !is_as_it_ran(file)) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!skip_lines(stream, number - 1)) return std::nullopt;
  return stream;
}

std::optional<std::string> SourceLines::line(const std::string& file, std::uint32_t number) const {
  auto stream = opened_at(file, number);
  if (!stream) return std::nullopt;
  return without_indent(next_line(*stream));
}

std::vector<std::string> SourceLines::lines(const std::string& file, std::uint32_t first, std::uint32_t count) const {
  std::vector<std::string> lines;
  auto stream = opened_at(file, first);
  if (!stream) return lines;
  while (lines.size() < count && stream->peek() != std::ifstream::traits_type::eof()) {
    lines.push_back(next_line(*stream));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
  }
  return lines;
}

}  // namespace turnpike::report
