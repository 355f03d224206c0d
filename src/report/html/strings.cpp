#include "report/html/strings.h"

#include "base/shown_text.h"

namespace turnpike::report::html {
std::uint32_t Strings::number_of(const std::string& text) {
  if (text.size() > kMaxShownBytes) return number_of(shown(text));
  const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(all_.size()));
  if (is_new) all_.push_back(text);
  return entry->second;
}

}  // namespace turnpike::report::html
