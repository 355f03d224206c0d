// Numbers from decimal text without a detour through floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::ingest {

// Nanoseconds from microseconds written as a decimal number with any number of digits, and an exponent if need be;
// rounded to the nearest, halves away from zero. nullopt: no such number (NaN, text), or beyond int64.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

// A whole number; nullopt for everything else, and for what lies beyond int64.
std::optional<std::int64_t> integer_of(std::string_view text);

}  // namespace turnpike::ingest
