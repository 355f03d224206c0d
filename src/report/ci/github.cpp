#include "report/ci/github.h"

#include "report/ci/breach_place.h"
#include "report/ci/github_command.h"
#include "report/text/check_text.h"
#include "report/text/text_width.h"

namespace turnpike::report {

std::string to_github(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository) {
  std::string text;
  for (const analyze::LimitResult& limit : result.limits) {
    if (limit.outcome == analyze::Outcome::kWithin) continue;
    text += github_command("error", place_of_breach(limit, budget, repository),
                           "turnpike check: " + cleaned(limit.name), breach_text(limit));
  }
  return text;
}

}  // namespace turnpike::report
