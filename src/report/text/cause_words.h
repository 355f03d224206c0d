// The words for why no computing runs on a device: one home for text and page.
#pragma once

#include "analyze/report.h"

namespace turnpike::report {

struct CauseWords {
  const char* name;      // in a table or a bar: "synchronisations"
  const char* sentence;  // of one stretch: "a synchronisation holds the CPU"
};
CauseWords words_of_cause(analyze::IdleCause cause);

}  // namespace turnpike::report
