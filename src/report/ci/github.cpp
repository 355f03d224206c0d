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

}  // namespace turnpike::report
