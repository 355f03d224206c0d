// Runs a command as if it had been started directly: its terminal, its signals, its way of ending.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/recorder_environment.h"

namespace turnpike::cli {

// How a command ended. When it could not be started, `start_error` is the errno of exec and the rest means nothing.
struct Ending {
  int start_error = 0;
  int exit_code = 0;
  int signal = 0;  // that it died by; 0: it exited by itself
};

// Called on the caller's thread while the command runs.
struct LaunchWatcher {
  std::function<void()> on_tick;         // about every kTick
  std::function<void()> before_suspend;  // Ctrl-Z: put the terminal in order
  // A signal for this process alone; true: it is not the command's.
  std::function<bool(int)> takes_signal{};
};

constexpr std::chrono::milliseconds kTick{250};

// Runs `command` (found in PATH as by a shell) in this process group, with `variables` applied, and waits for its end.
// The terminal sends its signals, such as Ctrl-C, to the command itself. A signal that another process sends to this
// process alone is passed on. Call it once in a process that has no other threads: it blocks nearly all signals for
// good. An Error if it cannot fork.
Result<Ending> launch(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                      const LaunchWatcher& watcher);

// Makes this process `command`, with `variables` applied. Returns only when that fails: the errno of exec.
int become(const std::vector<std::string>& command, const std::vector<Variable>& variables);

// Ends this process by `signal`, as the command ended, leaving no core file.
[[noreturn]] void die_by(int signal);

}  // namespace turnpike::cli
