// Says once what a run may be.
#include "cli/runs_argument.h"

#include "cli/message.h"
#include "trace/newest_run.h"

namespace turnpike::cli {

std::string check_is_named(const std::string& text) {
  return text.empty() ? "a file needs a name" : "";
}

std::string check_is_count(const std::string& text) {
  const bool is_count = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return is_count ? "" : "'" + text + "' is no whole number from 0 to 999999999";
}

void add_runs_argument(Command command, std::vector<std::filesystem::path>& runs) {
  const std::string about =
      "A run (NAME.tpk), a trace of torch.profiler (.json, .json.gz) or an export of Nsight Systems\n"
      "(.sqlite); or several: the ranks of one program";
  command.add_option("RUN", runs, about + "\n(default: the newest *.tpk in this folder)")
      .check(check_is_named)
      .type_name("");
}

Result<std::vector<std::filesystem::path>> runs_or_newest(const std::vector<std::filesystem::path>& runs,
                                                          const char* command) {
  if (!runs.empty()) return runs;
  const auto newest = trace::newest_run_here();
  if (!newest) {
    return Error{"this folder has no run (*.tpk). Name one, or record one: turnpike record -- python train.py\nSee `" +
                 std::string(command) + " --help`."};
  }
  say(command, newest->string() + ", the newest run in this folder");
  return std::vector{*newest};
}

void add_strict_option(Command command, bool& is_strict) {
  command.add_flag("--strict", is_strict, "Exit with 3 if a run is incomplete: damaged, cut off or partly unreadable");
}

}  // namespace turnpike::cli
