// Memory that a command of Turnpike shares with the processes below it, through /proc.
#pragma once

namespace turnpike {

inline constexpr const char* kStatusMemory = "turnpike-status";
inline constexpr const char* kEstatesMemory = "turnpike-estates";
inline constexpr const char* kGuardMemory = "turnpike-guard";

// Opens what an environment variable names: /proc/PID/fd/NUMBER of a memfd called `name`, or a file. -1 if it cannot,
// or if that descriptor is something else by now: a process that outlives the command, or runs in another container,
// may find a stranger under the PID. Closed on exec.
int open_shared_memory(const char* path, const char* name, int flags) noexcept;

}  // namespace turnpike
