#include "base/cleaned_text.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace turnpike {
namespace {

constexpr std::string_view kCommandAnywhere = "##[";

std::string escaped(const CodePoint& point) {
  char buffer[16];
  const char* format = point.value < 0x100 ? "\\x%02x" : (point.value < 0x10000 ? "\\u%04x" : "\\U%08x");
  std::snprintf(buffer, sizeof(buffer), format, static_cast<unsigned>(point.value));
  return buffer;
}

}  // namespace

bool starts_command(std::string_view rest, bool may_begin_line) {
  return (may_begin_line && rest.starts_with("::")) || rest.starts_with(kCommandAnywhere);
}

std::string cleaned(std::string_view untrusted, std::string_view kept) {
  std::string result;
  result.reserve(untrusted.size());
  // A page may be wrapped at each blank, so a line may begin behind each. The runner skips blanks before a command.
  bool is_behind_blank = true;
  while (!untrusted.empty()) {
    const CodePoint point = first_code_point(untrusted);
    const bool is_shown = point.is_valid && !starts_command(untrusted, is_behind_blank) &&
                          (is_harmless(point.value) || kept.find(untrusted[0]) != std::string_view::npos);
    if (is_shown) {
      result += untrusted.substr(0, point.bytes);
    } else {
      result += escaped(point);
    }
    is_behind_blank = is_shown && is_blank(point.value);
    untrusted.remove_prefix(point.bytes);
  }
  return result;
}

std::string printable_json(std::string json) {
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x7F; };
  const bool has_command = json.find(kCommandAnywhere) != std::string::npos;
  if (!has_command && std::all_of(json.begin(), json.end(), is_ascii)) return json;
  std::string result;
  for (std::string_view rest = json; !rest.empty();) {
    const CodePoint point = first_code_point(rest);
    if (!starts_command(rest, false) && (point.value < 0x7F || is_harmless(point.value))) {
      result += rest.substr(0, point.bytes);
    } else {
      append_json_escape(result, point.value);
    }
    rest.remove_prefix(point.bytes);
  }
  return result;
}

void append_json_escape(std::string& json, char32_t value) {
  char buffer[16];
  if (value < 0x10000) {
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(value));
  } else {
    const auto above = static_cast<unsigned>(value - 0x10000);
    std::snprintf(buffer, sizeof buffer, "\\u%04x\\u%04x", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
  }
  json += buffer;
}

}  // namespace turnpike
