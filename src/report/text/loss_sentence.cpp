#include "report/text/loss_sentence.h"

#include <algorithm>

#include "trace/losses.h"

namespace turnpike::report {

std::string loss_sentence(std::string_view name, const analyze::Source& source) {
  if (name == analyze::kUnreadableFile) {
    return "Files that were given could not be read at all, so what their processes did is missing. What is wrong with "
           "each is said beside this.";
  }
  const auto all = trace::all_losses();
  const auto found =
      std::find_if(all.begin(), all.end(), [=](const trace::LossInfo& info) { return info.name == name; });
  if (found == all.end()) return "";
  std::string sentence(found->sentence);
  const auto python = source.versions.find("unknown_python");
  if (found->loss == trace::Loss::kPythonUnknown && python != source.versions.end()) {
    sentence += " The recorded one is Python " + python->second + ".";
  }
  return sentence;
}

}  // namespace turnpike::report
