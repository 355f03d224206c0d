// The line that an instruction of Python bytecode belongs to, from the code object's own table.
#include "record/stacks/python_lines.h"

#include <cstddef>

namespace turnpike::record {
namespace {

// The forms of a location entry (bits 3 to 6 of its first byte) that are told apart here; 0 to 9 keep the line.
constexpr unsigned kOneLine0 = 10;
constexpr unsigned kOneLine2 = 12;
constexpr unsigned kNoColumns = 13;
constexpr unsigned kLong = 14;
constexpr unsigned kNoLocation = 15;

// Six bits a byte, low ones first; bit 6: more follow. Zigzag with the sign in bit 0.
int signed_varint(std::span<const unsigned char> table, std::size_t at) noexcept {
  unsigned value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 30; ++at, shift += 6) {
    value |= (table[at] & 63u) << shift;
    if ((table[at] & 64) == 0) break;
  }
  return (value & 1) != 0 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
}

std::uint32_t line_or_none(long line) noexcept {
  return line > 0 ? static_cast<std::uint32_t>(line) : 0;
}

}  // namespace

std::uint32_t line_of_instruction_310(std::span<const unsigned char> table, std::int32_t first_line,
                                      std::int32_t instruction_byte) noexcept {
  constexpr signed char kNoLine = -128;
  if (instruction_byte < 0) return line_or_none(first_line);
  long line = first_line;
  std::int32_t end = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    const auto step = static_cast<signed char>(table[at + 1]);
    end += table[at];
    if (step != kNoLine) line += step;
    if (instruction_byte < end) return step == kNoLine ? 0 : line_or_none(line);
  }
  return 0;
}

std::uint32_t line_of_instruction(std::span<const unsigned char> table, std::int32_t first_line,
                                  std::int32_t instruction_byte) noexcept {
  // A frame that has not begun yet: its first line, as CPython says.
  if (instruction_byte < 0) return line_or_none(first_line);
  long line = first_line;
  std::int32_t end = 0;
  for (std::size_t at = 0; at < table.size();) {
    const unsigned form = table[at] >> 3 & 15u;
    end += static_cast<std::int32_t>((table[at] & 7u) + 1) * 2;
    if (form == kLong || form == kNoColumns) line += signed_varint(table, at + 1);
    if (form >= kOneLine0 && form <= kOneLine2) line += static_cast<long>(form - kOneLine0);
    if (instruction_byte < end) return form == kNoLocation ? 0 : line_or_none(line);
    // Only an entry's first byte has its top bit set.
    for (++at; at < table.size() && (table[at] & 0x80) == 0; ++at) {
    }
  }
  return 0;
}

}  // namespace turnpike::record
