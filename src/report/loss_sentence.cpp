#include "report/loss_sentence.h"

#include <algorithm>

#include "analyze/analyze.h"
#include "trace/losses.h"

namespace turnpike::report {

std::string_view loss_sentence(std::string_view name) {
  if (name == analyze::kUnreadableFile) {
    return "files of the run that could not be read at all: what their processes did is missing. `turnpike dump` on "
           "such a "
           "file says why.";
  }
  const auto all = trace::all_losses();
  const auto found =
      std::find_if(all.begin(), all.end(), [=](const trace::LossInfo& info) { return info.name == name; });
  return found == all.end() ? std::string_view() : found->sentence;
}

}  // namespace turnpike::report
