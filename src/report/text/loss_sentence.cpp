#include "report/text/loss_sentence.h"

#include <algorithm>

#include "analyze/report.h"
#include "trace/losses.h"

namespace turnpike::report {

std::string_view loss_sentence(std::string_view name) {
  if (name == analyze::kUnreadableFile) {
    return "Files that were given could not be read at all, so what their processes did is missing. What is wrong with "
           "each is said beside this.";
  }
  const auto all = trace::all_losses();
  const auto found =
      std::find_if(all.begin(), all.end(), [=](const trace::LossInfo& info) { return info.name == name; });
  return found == all.end() ? std::string_view() : found->sentence;
}

}  // namespace turnpike::report
