// The signal on which a process keeps what it has of a recording with `last`.
#pragma once

namespace turnpike::record {

enum class KeepSignalState { kTaken, kProgramHasIt, kFailed };

// Takes the signal where the program does nothing with it. `keep` is called in the handler.
KeepSignalState take_keep_signal(int number, void (*keep)()) noexcept;
// Gives it back where it is still ours; also in a forked child.
void give_keep_signal_back() noexcept;

}  // namespace turnpike::record
