// Descriptors in other people's processes.
#pragma once

namespace turnpike {

// Gives `file` a number that programs do not reach by accident, where the limit of this process has room for one. It is
// closed on exec then.
int under_high_number(int file) noexcept;

}  // namespace turnpike
