// UTF-8, one character at a time: read from bytes that nobody vouches for, and written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace turnpike {

struct CodePoint {
  char32_t value;  // the byte itself when it is not valid
  std::size_t bytes;
  bool is_valid;
};

// `text` is not empty. Overlong forms, surrogates and truncated sequences are invalid, one byte at a time.
CodePoint first_code_point(std::string_view text);

// Whether a terminal shows the character as itself: no control, nothing invisible, nothing that changes the direction
// of what follows.
bool is_harmless(char32_t value);

// What programs skip where a text begins: spaces of any width, tabs and line breaks.
bool is_blank(char32_t value);

// A lone surrogate, and what is beyond Unicode, becomes U+FFFD.
void append_utf8(std::string& text, char32_t value);

}  // namespace turnpike
