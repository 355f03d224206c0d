// The ends of this process that can be heard of: what is under way is recorded before each.
#pragma once

#include <string>

namespace turnpike::record {

struct Options;

// From now on: exit() and the end of main, quick_exit(), and what the program and Python call of _exit, _Exit and exec.
// What ends the process otherwise is for `turnpike record` (record/estate).
void watch_endings() noexcept;
// Starts the recorder, and watches them if that succeeds.
bool start_and_watch_endings(const Options& options, std::string& error);

}  // namespace turnpike::record
