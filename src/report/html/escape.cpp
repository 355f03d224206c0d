#include "report/html/escape.h"

#include <fmt/format.h>

#include <iterator>

#include "base/shown_text.h"
#include "base/utf8.h"

namespace turnpike::report::html {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_escape(std::string& out, char32_t value) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(value));
}

void append_markup(std::string& out, const CodePoint& point, std::string_view bytes, bool keeps_tabs) {
  switch (point.value) {
    case U'&':
      out += "&amp;";
      return;
    case U'<':
      out += "&lt;";
      return;
    case U'>':
      out += "&gt;";
      return;
    case U'"':
      out += "&quot;";
      return;
    case U'\'':
      out += "&#39;";
      return;
    default:
      break;
  }
  if (is_harmless(point.value) || (keeps_tabs && point.value == U'\t')) {
    out += bytes;
  } else {
    append_escape(out, point.value);
  }
}

std::string escaped_text(std::string_view text, bool keeps_tabs) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.is_valid) {
      append_markup(out, point, text.substr(0, point.bytes), keeps_tabs);
    } else {
      out += kReplacement;
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

// Characters that JSON allows in a string and a script element does not bear.
bool is_dangerous_in_script(char32_t value) {
  return value == U'<' || value == U'>' || value == 0x2028 || value == 0x2029;
}

}  // namespace

std::string escaped(std::string_view untrusted) {
  return escaped_text(shown(untrusted), false);
}

std::string escaped_code(std::string_view untrusted) {
  return escaped_text(shown(untrusted), true);
}

std::string escaped_whole(std::string_view untrusted) {
  return escaped_text(untrusted, false);
}

void append_json_string(std::string& out, std::string_view untrusted) {
  out += '"';
  while (!untrusted.empty()) {
    const CodePoint point = first_code_point(untrusted);
    if (!point.is_valid) {
      out += kReplacement;
    } else if (point.value == U'"' || point.value == U'\\') {
      out += '\\';
      out += static_cast<char>(point.value);
    } else if (point.value < 0x20 || is_dangerous_in_script(point.value)) {
      append_escape(out, point.value);
    } else {
      out += untrusted.substr(0, point.bytes);
    }
    untrusted.remove_prefix(point.bytes);
  }
  out += '"';
}

std::string json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  while (!json.empty()) {
    const CodePoint point = first_code_point(json);
    if (point.is_valid && is_dangerous_in_script(point.value)) {
      append_escape(out, point.value);
    } else {
      out += json.substr(0, point.bytes);
    }
    json.remove_prefix(point.bytes);
  }
  return out;
}

std::string cut(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace turnpike::report::html
