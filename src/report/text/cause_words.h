// The words for where the time of a step goes: one home for text and page.
#pragma once

#include <string>

#include "analyze/report.h"
#include "analyze/step_time.h"

namespace turnpike::report {

struct CauseWords {
  const char* name;      // in a table or a bar: "synchronisations"
  const char* sentence;  // of one stretch: "a synchronisation holds the CPU"
};
CauseWords words_of_cause(analyze::IdleCause cause);

// "GPU computes", "only copies", "idle: synchronisations".
std::string words_of_part(const analyze::TimePart& part);
// What happens meanwhile: "a synchronisation holds the CPU".
std::string meaning_of_part(const analyze::TimePart& part);

}  // namespace turnpike::report
