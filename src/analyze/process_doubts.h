// What is wrong with the recording of one process, although its file could be read.
#pragma once

#include <string>
#include <vector>

#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Sentences that begin with the process's file.
std::vector<std::string> doubts_about(const trace::Process& process, const Timeline& timeline);

}  // namespace turnpike::analyze
