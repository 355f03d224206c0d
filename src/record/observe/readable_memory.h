// Whether memory can be read right now: a question to the kernel, which costs a fifth of a copy by it.
#pragma once

#include <cstdint>

namespace turnpike::record {

// Whether this kernel answers the question as we put it. Asked of it once.
bool answers_whether_readable() noexcept;

// Whether each page of `bytes` > 0 bytes from `address` can be read without a fault, be it a missing page, a forbidden
// one, or one behind the end of its file. 0.1 us a page. Only where answers_whether_readable(). Any thread; errno is
// left as it was.
bool is_readable(std::uintptr_t address, std::uint64_t bytes) noexcept;

}  // namespace turnpike::record
