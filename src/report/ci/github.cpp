// GitHub's escapes: its runner takes %, CR and LF of messages, and : and , of properties, in per cent form.
#include "report/ci/github.h"

#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "report/ci/breach_place.h"
#include "report/text/check_text.h"
#include "report/text/text_width.h"

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

std::string to_github(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository) {
  std::string text;
  for (const analyze::LimitResult& limit : result.limits) {
    if (limit.outcome == analyze::Outcome::kWithin) continue;
    text += "::error ";
    if (const auto place = place_of_breach(limit, budget, repository)) {
      text += "file=" + as_property(place->path) + ",line=" + std::to_string(place->line) + ",";
    }
    text +=
        "title=" + as_property("turnpike check: " + cleaned(limit.name)) + "::" + as_message(breach_text(limit)) + "\n";
  }
  return text;
}

std::string without_commands(std::string_view text) {
  constexpr std::string_view kNew = "::";
  constexpr std::string_view kOld = "##[";
  std::string result;
  bool is_at_start = true;  // of a line, or behind its spaces
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    result += text[at];
    if ((is_at_start && rest.starts_with(kNew)) || rest.starts_with(kOld)) result += ' ';
    is_at_start = text[at] == '\n' || (is_at_start && text[at] == ' ');
  }
  return result;
}

}  // namespace turnpike::report
