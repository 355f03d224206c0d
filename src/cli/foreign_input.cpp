#include "cli/foreign_input.h"

#include <fstream>
#include <string>
#include <string_view>

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

std::string first_bytes_of(const fs::path& path) {
  std::error_code failed;
  // Opening a pipe could block, and reading it would use it up.
  if (!fs::is_regular_file(path, failed)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string bytes(64, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool starts_as_json(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[');
}

bool is_nsight(const fs::path& path, std::string_view bytes) {
  const fs::path extension = path.extension();
  return bytes.starts_with("SQLite format 3") || extension == ".nsys-rep" || extension == ".qdrep";
}

bool is_torch_profiler(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b") || starts_as_json(bytes);
}

Error not_read_yet(const fs::path& path, const char* whose) {
  return Error{path.string() + " looks like a file of " + whose +
               ". This version of Turnpike reads its own runs only: make one with `turnpike record -- COMMAND`."};
}

}  // namespace

Status check_are_turnpike_runs(const std::vector<fs::path>& runs) {
  for (const fs::path& run : runs) {
    const std::string bytes = first_bytes_of(run);
    if (is_nsight(run, bytes)) return not_read_yet(run, "Nsight Systems");
    if (is_torch_profiler(bytes)) return not_read_yet(run, "torch.profiler");
  }
  return {};
}

}  // namespace turnpike::cli
