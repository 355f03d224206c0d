#include "base/site_pattern.h"

#include <algorithm>

#include "base/file_line.h"

namespace turnpike {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool matches_path(std::string_view pattern, std::string_view path) {
  if (matches_glob(pattern, path)) return true;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    if (matches_glob(pattern, path.substr(slash + 1))) return true;
  }
  return false;
}

bool matches_function(std::string_view pattern, std::string_view function) {
  if (matches_glob(pattern, function)) return true;
  const auto dot = function.rfind('.');
  return dot != std::string_view::npos && matches_glob(pattern, function.substr(dot + 1));
}

bool matches_rest(std::string_view rest, std::string_view line, std::string_view function) {
  if (rest.empty() || rest == "*") return true;
  return is_number(rest) ? rest == line : matches_function(rest, function);
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;  // the last one, which can take more
  std::size_t star_text = 0;
  while (in_text < text.size()) {
    // First, because the text may hold a star itself.
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_text = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
      ++at;
      ++in_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

SiteParts split_site(std::string_view text) {
  text = without_compiled_mark(text);
  for (std::size_t i = text.size(); i > 0; --i) {
    const std::size_t at = i - 1;
    if (text[at] != ':') continue;
    const bool is_double = (at > 0 && text[at - 1] == ':') || (at + 1 < text.size() && text[at + 1] == ':');
    if (!is_double) return {text.substr(0, at), text.substr(at + 1)};
  }
  return {text, {}};
}

bool matches_place(std::string_view pattern, std::string_view path, std::string_view line, std::string_view function) {
  const SiteParts parts = split_site(pattern);
  return matches_path(parts.file, path) && matches_rest(parts.rest, line, function);
}

}  // namespace turnpike
