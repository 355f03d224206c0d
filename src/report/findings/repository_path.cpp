#include "report/findings/repository_path.h"

#include <cstdlib>
#include <string_view>

#include "base/file_line.h"

namespace turnpike::report {
namespace {

namespace fs = std::filesystem;

// "function (file:line)"
std::optional<CodeLine> parsed_frame(std::string_view frame) {
  const auto open = frame.find(" (");
  if (open == std::string_view::npos || !frame.ends_with(')')) return std::nullopt;
  const auto line = parse_file_line(frame.substr(open + 2, frame.size() - open - 3));
  if (!line || line->file.empty()) return std::nullopt;
  return CodeLine{.path = std::string(line->file), .line = line->line};
}

}  // namespace

bool is_in_github_actions() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

Repository Repository::here() {
  const char* workspace = std::getenv("GITHUB_WORKSPACE");
  if (is_in_github_actions() && workspace != nullptr && *workspace != '\0') return Repository(workspace);
  std::error_code failed;
  return Repository(std::filesystem::current_path(failed));
}

Repository::Repository(const fs::path& root) {
  std::error_code failed;
  root_ = fs::weakly_canonical(root, failed);
  if (failed) root_ = root;
}

std::optional<std::string> Repository::relative(const std::string& file) const {
  if (file.empty()) return std::nullopt;
  std::error_code failed;
  const fs::path path = fs::path(file).lexically_normal();
  fs::path rest = path.relative_path();
  if (const fs::path inside = path.lexically_relative(root_); !inside.empty() && *inside.begin() != "..") rest = inside;
  while (!rest.empty() && *rest.begin() != "..") {
    if (fs::is_regular_file(root_ / rest, failed)) return rest.generic_string();
    fs::path shorter;
    for (auto part = std::next(rest.begin()); part != rest.end(); ++part) shorter /= *part;
    rest = std::move(shorter);
  }
  return std::nullopt;
}

std::optional<CodeLine> Repository::line_of(const analyze::Item& item) const {
  if (item.file) {
    if (const auto path = relative(*item.file)) return CodeLine{*path, item.line.value_or(1)};
  }
  for (const std::string& frame : item.stack) {
    const auto line = parsed_frame(frame);
    if (!line) continue;
    if (const auto path = relative(line->path)) return CodeLine{*path, line->line};
  }
  return std::nullopt;
}

}  // namespace turnpike::report
