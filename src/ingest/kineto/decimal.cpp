// Reads digits into a 64-bit mantissa and a power of ten.
#include "ingest/kineto/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace turnpike::ingest {
namespace {

constexpr int kMicrosecondsToNanoseconds = 3;  // powers of ten
constexpr std::uint64_t kMaxMantissa = (std::numeric_limits<std::uint64_t>::max() - 9) / 10;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

struct Decimal {
  std::uint64_t mantissa = 0;
  int exponent = 0;       // of ten
  int first_dropped = 0;  // the first digit that the mantissa had no room for
  bool has_digits = false;
};

void take_digit(Decimal& number, char letter, bool is_fraction, bool& is_full) {
  number.has_digits = true;
  if (!is_full && number.mantissa <= kMaxMantissa) {
    number.mantissa = number.mantissa * 10 + static_cast<unsigned>(letter - '0');
    if (is_fraction) --number.exponent;
    return;
  }
  if (!is_full) number.first_dropped = letter - '0';
  is_full = true;
  // Longer than any file: no overflow.
  if (!is_fraction) ++number.exponent;
}

// Without a sign. nullopt unless all of the text is one number.
std::optional<Decimal> parse(std::string_view text) {
  Decimal number;
  bool is_full = false;
  bool is_fraction = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (is_digit(text[at])) {
      take_digit(number, text[at], is_fraction, is_full);
    } else if (text[at] == '.' && !is_fraction) {
      is_fraction = true;
    } else {
      break;
    }
  }
  if (!number.has_digits) return std::nullopt;
  if (at == text.size()) return number;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  ++at;
  if (at < text.size() && text[at] == '+') ++at;
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size() || exponent > 1000 || exponent < -1000) {
    return std::nullopt;
  }
  number.exponent += exponent;
  return number;
}

std::optional<std::uint64_t> times_power_of_ten(const Decimal& number, int power) {
  std::uint64_t value = number.mantissa;
  for (; power > 0; --power) {
    if (value == 0) return value;
    if (value > std::numeric_limits<std::uint64_t>::max() / 10) return std::nullopt;
    value *= 10;
  }
  int last_digit = number.first_dropped;
  for (; power < 0 && (value != 0 || last_digit != 0); ++power) {
    last_digit = static_cast<int>(value % 10);
    value /= 10;
  }
  return last_digit >= 5 ? value + 1 : value;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  const bool is_negative = microseconds.starts_with('-');
  if (is_negative) microseconds.remove_prefix(1);
  const auto number = parse(microseconds);
  if (!number) return std::nullopt;
  const auto size = times_power_of_ten(*number, number->exponent + kMicrosecondsToNanoseconds);
  if (!size || *size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  const auto value = static_cast<std::int64_t>(*size);
  return is_negative ? -value : value;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace turnpike::ingest
