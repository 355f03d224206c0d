// GitHub's escapes: its runner takes %, CR and LF of messages, and : and , of properties, in per cent form.
#include "report/ci/github_command.h"

#include "base/text.h"

namespace turnpike::report {
namespace {

std::string as_message(std::string_view text) {
  return percent_escaped(text,
                         [](char letter) { return std::string_view("%\r\n").find(letter) == std::string_view::npos; });
}

std::string as_property(std::string_view text) {
  return percent_escaped(
      text, [](char letter) { return std::string_view("%\r\n:,").find(letter) == std::string_view::npos; });
}

}  // namespace

std::string github_command(std::string_view level, const std::optional<CodeLine>& place, std::string_view title,
                           std::string_view message) {
  std::string text = "::" + std::string(level) + " ";
  if (place) text += "file=" + as_property(place->path) + ",line=" + std::to_string(place->line) + ",";
  return text + "title=" + as_property(title) + "::" + as_message(message) + "\n";
}

}  // namespace turnpike::report
