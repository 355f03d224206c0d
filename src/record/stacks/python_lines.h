// The line that an instruction of Python bytecode belongs to, from the code object's own table.
#pragma once

#include <cstdint>
#include <span>

namespace turnpike::record {

// 3.10 (PEP 626): pairs of a bytecode length and a signed line step. 0: the instruction has no line.
std::uint32_t line_of_instruction_310(std::span<const unsigned char> table, std::int32_t first_line,
                                      std::int32_t instruction_byte) noexcept;
// 3.11 and later (PEP 657, Objects/locations.md): entries of variable length. 0: the instruction has no line.
std::uint32_t line_of_instruction(std::span<const unsigned char> table, std::int32_t first_line,
                                  std::int32_t instruction_byte) noexcept;

}  // namespace turnpike::record
