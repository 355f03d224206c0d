// A position in JSON text, moved token by token: no tree, no copies, no recursion, so that depth costs nothing.
//
// It is written here, and not taken from a library, for what traces need: events are read where they stand in a window
// that moves over a stream; a string with invalid UTF-8, a NaN or a huge number costs at most its own event; and what
// ships is one static binary. docs/ingest.md has the figures beside simdjson's.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace turnpike::ingest {

// kMore: the text ends inside of what was asked for.
enum class Scan : std::uint8_t { kOk, kMore, kBad };

// A value as it stands in the text. `text` is without quotes for strings, and holds all of an object or array.
struct JsonValue {
  enum class Kind : std::uint8_t { kScalar, kString, kObject, kArray };
  Kind kind = Kind::kScalar;
  bool has_escapes = false;
  std::string_view text;
};

class JsonCursor {
 public:
  // The bytes behind the text that must be readable and zero.
  static constexpr std::size_t kPaddingBytes = 16;

  JsonCursor(const char* at, const char* end) : at_(at), end_(end) {}

  const char* at() const { return at_; }
  void advance() { ++at_; }
  // Moves past white space and gives the byte there; 0 at the end.
  char peek() {
    while (static_cast<unsigned char>(*at_ - 1) < ' ') ++at_;
    return *at_;
  }
  // What it means that the byte here is not one that can follow.
  Scan unexpected() const { return at_ >= end_ ? Scan::kMore : Scan::kBad; }

  // At a quote: the string, and the cursor behind it. A line break inside is an error: strings in which quotes are not
  // escaped end there instead of taking in the events that follow.
  Scan string(JsonValue& value) {
    value.kind = JsonValue::Kind::kString;
    value.has_escapes = false;
    const char* const start = at_ + 1;
    const char* here = start;
    while (true) {
      std::uint64_t word;
      std::memcpy(&word, here, sizeof word);
      const std::uint64_t found = specials_in(word);
      if (found == 0) {
        here += sizeof word;
        continue;
      }
      here += std::countr_zero(found) / 8;
      if (*here == '"') break;
      if (*here == '\\') {
        if (here + 2 > end_) return Scan::kMore;
        value.has_escapes = true;
        here += 2;
      } else if (*here == '\n' || *here == '\0') {
        at_ = here;
        return unexpected();
      } else {
        ++here;
      }
    }
    value.text = {start, static_cast<std::size_t>(here - start)};
    at_ = here + 1;
    return Scan::kOk;
  }

  // Any value, and the cursor behind it. What is inside of objects and arrays is only looked at as far as needed to
  // find their end.
  Scan value(JsonValue& value) {
    const char first = peek();
    if (first == '"') return string(value);
    value.has_escapes = false;
    const char* const start = at_;
    const Scan scan = skip();
    value.kind = first == '{'   ? JsonValue::Kind::kObject
                 : first == '[' ? JsonValue::Kind::kArray
                                : JsonValue::Kind::kScalar;
    value.text = {start, static_cast<std::size_t>(at_ - start)};
    return scan;
  }

  // At `{`, or behind the value of a member: the next key, and the cursor at its value. `is_end`: there is no further
  // member, and the cursor is behind the `}`.
  Scan next_key(JsonValue& key, bool& is_end) {
    const char before = peek();
    is_end = before == '}';
    if (before != '{' && before != ',' && !is_end) return unexpected();
    advance();
    if (is_end) return Scan::kOk;
    const char first = peek();
    if (first == '}' && before == '{') {
      advance();
      is_end = true;
      return Scan::kOk;
    }
    if (first != '"') return unexpected();
    if (const Scan scan = string(key); scan != Scan::kOk) return scan;
    if (peek() != ':') return unexpected();
    advance();
    peek();
    return Scan::kOk;
  }

  Scan skip() {
    JsonValue ignored;
    for (std::size_t depth = 0;;) {
      const char first = peek();
      if (first == '"') {
        if (const Scan scan = string(ignored); scan != Scan::kOk) return scan;
      } else if (first == '{' || first == '[') {
        ++depth;
        ++at_;
        continue;
      } else if ((first == '}' || first == ']') && depth > 0) {
        --depth;
        ++at_;
      } else if (is_of_scalar(first)) {
        while (is_of_scalar(*at_)) ++at_;
        if (at_ >= end_) return Scan::kMore;  // a number can go on
      } else {
        return unexpected();
      }
      if (depth == 0) return Scan::kOk;
      const char after = peek();
      if (after == ',' || after == ':') {
        ++at_;
      } else if (after != '}' && after != ']') {
        return unexpected();
      }
    }
  }

 private:
  // The bytes that end a run of plain ones in a string: quote, backslash, those below space. The lowest set bit is
  // right; higher ones may be set without reason.
  static std::uint64_t specials_in(std::uint64_t word) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    constexpr std::uint64_t kHighs = 0x8080808080808080u;
    const std::uint64_t quotes = word ^ (kOnes * '"');
    const std::uint64_t backslashes = word ^ (kOnes * '\\');
    return (((quotes - kOnes) & ~quotes) | ((backslashes - kOnes) & ~backslashes) | ((word - kOnes * ' ') & ~word)) &
           kHighs;
  }
  static_assert(std::endian::native == std::endian::little);

  // Numbers and words: true, null, NaN, -Infinity.
  static bool is_of_scalar(char letter) { return kIsOfScalar[static_cast<unsigned char>(letter)]; }
  static constexpr std::array<bool, 256> kIsOfScalar = [] {
    std::array<bool, 256> table{};
    for (int letter = 0; letter < 256; ++letter) {
      const int lower = letter | 0x20;
      table[static_cast<std::size_t>(letter)] = (letter >= '0' && letter <= '9') || (lower >= 'a' && lower <= 'z') ||
                                                letter == '+' || letter == '-' || letter == '.';
    }
    return table;
  }();

  const char* at_;
  const char* end_;
};

}  // namespace turnpike::ingest
