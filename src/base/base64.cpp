#include "base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace turnpike {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
using Pair = std::array<char, 2>;

// Two letters at a time: half as many look-ups.
constexpr std::array<Pair, 64 * 64> kPairs = [] {
  std::array<Pair, 64 * 64> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kLetters[i >> 6], kLetters[i & 63]};
  return pairs;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  const auto put = [&](std::uint32_t twelve_bits) {
    std::memcpy(out, kPairs[twelve_bits].data(), sizeof(Pair));
    out += sizeof(Pair);
  };
  const std::size_t whole = bytes.size() / 3 * 3;
  for (std::size_t i = 0; i < whole; i += 3) {
    put(at(i) << 4 | at(i + 1) >> 4);
    put((at(i + 1) & 15) << 8 | at(i + 2));
  }
  if (whole < bytes.size()) {
    const bool has_second = whole + 1 < bytes.size();
    const std::uint32_t second = has_second ? at(whole + 1) : 0u;
    put(at(whole) << 4 | second >> 4);
    if (has_second) *out = kLetters[(second & 15) << 2];
  }
  return text;
}

}  // namespace turnpike
