#include "base/shown_text.h"

#include <algorithm>

namespace turnpike {
namespace {

constexpr std::size_t kRoomForLength = 60;
constexpr std::size_t kHalfBytes = (kMaxShownBytes - kRoomForLength) / 2;

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

std::string shown(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  // A character has at most 4 bytes; what is no UTF-8 may be cut anywhere.
  constexpr std::size_t kMostInside = 3;
  std::size_t head = kHalfBytes;
  while (kHalfBytes - head < kMostInside && is_inside_character(text[head])) --head;
  std::size_t tail = text.size() - kHalfBytes;
  while (kHalfBytes - (text.size() - tail) < kMostInside && is_inside_character(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + " ... (" + std::to_string(text.size()) + " bytes in all) ... " +
         std::string(text.substr(tail));
}

}  // namespace turnpike
