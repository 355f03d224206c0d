// Says once what a run may be.
#include "cli/runs_argument.h"

namespace turnpike::cli {

std::string check_is_named(const std::string& text) {
  return text.empty() ? "a file needs a name" : "";
}

std::string check_is_count(const std::string& text) {
  const bool is_count = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return is_count ? "" : "'" + text + "' is no whole number from 0 to 999999999";
}

void add_runs_argument(Command command, std::vector<std::filesystem::path>& runs, bool is_optional) {
  const std::string about =
      "A run (NAME.tpk), a trace of torch.profiler (.json, .json.gz) or an export of Nsight Systems\n"
      "(.sqlite); or several: the ranks of one program";
  command.add_option("RUN", runs, about + (is_optional ? "\n(default: the newest *.tpk in this folder)" : ""))
      .required(!is_optional)
      .check(check_is_named)
      .type_name("");
}

}  // namespace turnpike::cli
