// The runs that a recording with --last keeps on the way: asked for by a signal, and listed at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/shared_status.h"

namespace turnpike::cli {

class KeptRuns {
 public:
  // `run` is where it is recorded, `status` outlives this object.
  KeptRuns(std::filesystem::path run, const SharedStatus& status);

  // Every recorded process keeps what it has.
  void ask();
  // Removes directories into which no process wrote, and gives the others.
  std::vector<std::filesystem::path> settle() const;

 private:
  std::filesystem::path run_;
  const SharedStatus& status_;
  std::vector<std::filesystem::path> older_;  // that were there before
};

// "  kept train-1.tpk: a step took ...", a line for each; "" without any.
std::string kept_text(const std::vector<std::filesystem::path>& runs);

}  // namespace turnpike::cli
