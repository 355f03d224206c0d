// Compares words without their case.
#include "base/step_name.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace turnpike {

std::string_view without_number(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789#:_-/ =()[]");
  return name.substr(0, last + 1);
}

bool names_a_step(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); });
  if (lower.find("optim") != std::string::npos || lower.find("sched") != std::string::npos) return false;
  for (const std::string_view word : {"step", "iteration"}) {
    if (!lower.ends_with(word)) continue;
    const auto before = lower.size() - word.size();
    // A word of its own, or of a CamelCase name.
    if (before == 0 || std::isalpha(static_cast<unsigned char>(lower[before - 1])) == 0 ||
        std::isupper(static_cast<unsigned char>(name[before])) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace turnpike
