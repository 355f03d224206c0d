#include "base/base64.h"

#include <cstdint>

namespace turnpike {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  const auto put = [&](std::uint32_t group, std::size_t letters) {
    for (std::size_t k = 0; k < letters; ++k) out[k] = kLetters[group >> (18 - 6 * k) & 63];
    out += letters;
  };
  const std::size_t whole = bytes.size() / 3 * 3;
  for (std::size_t i = 0; i < whole; i += 3) put(at(i) << 16 | at(i + 1) << 8 | at(i + 2), 4);
  if (whole < bytes.size()) {
    const bool has_second = whole + 1 < bytes.size();
    put(at(whole) << 16 | (has_second ? at(whole + 1) << 8 : 0u), has_second ? 3 : 2);
  }
  return text;
}

}  // namespace turnpike
