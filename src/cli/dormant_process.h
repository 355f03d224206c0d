// Processes that wait for `turnpike attach`, and why one does not.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// Of this user, in the order of their ids.
Result<std::vector<pid_t>> dormant_processes();

// Whether it waits for `turnpike attach`.
bool is_dormant(pid_t process);
// Whether Turnpike was asked for when it was started: it is recorded, or is to wait.
bool was_started_for_turnpike(pid_t process);

// Whether it is stopped, as by Ctrl-Z: it would not answer.
bool is_stopped(pid_t process);

// The words it was started with; {} where it has ended, or is not ours.
std::vector<std::string> command_of(pid_t process);

// The user that it runs as.
Result<uid_t> user_of(pid_t process);

// A sentence for a process at whose socket nobody answers.
std::string why_not_dormant(pid_t process);

}  // namespace turnpike::cli
