// The words for how serious a finding is.
#include "analyze/rules/rule.h"

namespace turnpike::analyze {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

}  // namespace turnpike::analyze
