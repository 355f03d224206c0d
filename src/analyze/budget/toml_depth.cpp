// Counts the dots of a line outside of texts and comments.
#include "analyze/budget/toml_depth.h"

namespace turnpike::analyze {

std::optional<std::string> what_is_too_deep(std::string_view text) {
  constexpr std::size_t kMaxDots = 20;
  if (text.find("\"\"\"") != std::string_view::npos || text.find("'''") != std::string_view::npos) {
    return ": texts over several lines (in three quotes) have no place in a budget.";
  }
  std::size_t line = 1;
  std::size_t dots = 0;
  char quote = 0;
  bool is_comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\n') {
      ++line;
      dots = 0;
      quote = 0;
      is_comment = false;
    } else if (is_comment) {
      continue;
    } else if (quote != 0) {
      if (letter == '\\' && quote == '"') ++i;
      if (letter == quote) quote = 0;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
    } else if (letter == '#') {
      is_comment = true;
    } else if (letter == '.' && ++dots > kMaxDots) {
      return ":" + std::to_string(line) + ": so many dots have no place in a line of a budget.";
    }
  }
  return std::nullopt;
}

}  // namespace turnpike::analyze
