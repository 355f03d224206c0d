// Numbers of descriptors in other people's processes.
#pragma once

namespace turnpike {

// Gives `file`, which was opened just now, a number that programs do not reach by accident, where the limit of this
// process has room for one. It is closed on exec then. -1: meanwhile the program has closed it.
int under_high_number(int file) noexcept;

}  // namespace turnpike
