// UTF-8, one character at a time, from bytes that nobody vouches for.
#pragma once

#include <cstddef>
#include <string_view>

namespace turnpike::report {

struct CodePoint {
  char32_t value;  // the byte itself when it is not valid
  std::size_t bytes;
  bool is_valid;
};

// `text` is not empty. Overlong forms, surrogates and truncated sequences are invalid, one byte at a time.
CodePoint first_code_point(std::string_view text);

}  // namespace turnpike::report
