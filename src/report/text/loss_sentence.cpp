#include "report/text/loss_sentence.h"

#include "trace/losses.h"

namespace turnpike::report {

std::string loss_sentence(std::string_view name, const analyze::Source& source) {
  if (name == analyze::kUnreadableFile) {
    return "Files that were given could not be read at all, so what their processes did is missing. What is wrong with "
           "each is said beside this.";
  }
  const trace::LossInfo* const found = trace::find_loss(name);
  if (found == nullptr) return "";
  const bool is_ours = source.kind.empty() || source.kind == "turnpike" || source.kind == "mixed";
  std::string sentence(is_ours || found->of_other_tool.empty() ? found->sentence : found->of_other_tool);
  const auto python = source.versions.find("unknown_python");
  if (found->loss == trace::Loss::kPythonUnknown && python != source.versions.end()) {
    sentence += " The recorded one is Python " + python->second + ".";
  }
  return sentence;
}

}  // namespace turnpike::report
