// Base64 (RFC 4648) with padding, on one line.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

std::string base64(std::string_view bytes);

}  // namespace turnpike
