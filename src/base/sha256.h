// SHA-256 (FIPS 180-4): names exactly what a page's policy lets run. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace turnpike {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace turnpike
