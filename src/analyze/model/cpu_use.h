// What a recording says of the processors that its process could use.
#pragma once

#include <optional>
#include <string>

#include "trace/process.h"

namespace turnpike::analyze {

struct CpuUse {
  double cores = 0;
  double busy = 0;  // of them, on average, with the work of all programs
  double idle() const { return cores - busy; }
};

// nullopt: it is not known.
std::optional<CpuUse> cpu_use_of(const trace::Process& process);

// "of 16 CPU cores, 13.6 had nothing to do"
std::string idle_cores_text(const CpuUse& use);

}  // namespace turnpike::analyze
