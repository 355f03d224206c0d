// Threads of the recorder's own in the program's process.
#pragma once

namespace turnpike::record {

// Starts a detached thread of that name, which takes none of the program's signals. A pthread rather than std::thread,
// because a forked child must be able to forget it. 0, or an errno.
int start_own_thread(const char* name, void* (*body)(void*), void* argument) noexcept;

}  // namespace turnpike::record
