// What a C++ frame does with an exception: the table that its compiler wrote for the personality routine.
#pragma once

#include <cstdint>

namespace turnpike::guard {

enum class Landing : std::uint8_t {
  kPasses,      // the frame lets it through, perhaps after a cleanup
  kCatches,     // a handler takes a std::runtime_error
  kTerminates,  // it may not leave: noexcept
};

// `table` is the language-specific data of a function that begins at `function`; `address` is inside of the call that
// throws. Asks by the names of types, so it holds whichever C++ runtime this library has itself.
Landing landing_at(const unsigned char* table, std::uintptr_t function, std::uintptr_t address) noexcept;

}  // namespace turnpike::guard
