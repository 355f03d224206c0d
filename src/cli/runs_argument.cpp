// Says once what a run may be.
#include "cli/runs_argument.h"

namespace turnpike::cli {

void add_runs_argument(CLI::App& command, std::vector<std::filesystem::path>& runs) {
  command
      .add_option("RUN", runs,
                  "A run (NAME.tpk), a trace of torch.profiler (.json, .json.gz) or an export of Nsight Systems\n"
                  "(.sqlite); or several: the ranks of one program")
      ->required()
      ->type_name("");
}

}  // namespace turnpike::cli
