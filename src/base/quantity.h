// Sizes and durations as people write them: "12 MB", "0.2 ms".
#pragma once

#include <string_view>

#include "base/result.h"

namespace turnpike {

// Bytes: B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (of 1024). The Error says what is wrong and what is
// known; it quotes nothing.
Result<double> parse_size(std::string_view text);
// Nanoseconds: ns, us, ms, s, min.
Result<double> parse_duration(std::string_view text);

}  // namespace turnpike
