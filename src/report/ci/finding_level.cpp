#include "report/ci/finding_level.h"

#include "report/text/saving_words.h"
#include "report/text/text_width.h"

namespace turnpike::report {

const char* level_of(const analyze::Finding& finding) {
  switch (finding.severity) {
    case analyze::Severity::kError:
      return "error";
    case analyze::Severity::kWarning:
      return "warning";
    case analyze::Severity::kInfo:
      break;
  }
  return "note";
}

std::string message_of(const analyze::Finding& finding, bool has_steps) {
  const std::string place = finding.site.empty() ? "" : finding.site + ": ";
  return cleaned(place + finding.title + "; " + saving_text(finding, has_steps) + ". " + finding.advice);
}

}  // namespace turnpike::report
