#include "report/markdown/markdown.h"

#include <algorithm>

#include "base/cleaned_text.h"
#include "base/text.h"

namespace turnpike::report {
namespace {

// Punctuation that means nothing in Markdown within a line. A number entity is a character and never markup.
bool is_plain(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  const bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
  const bool is_digit = byte >= '0' && byte <= '9';
  return byte >= 0x80 || is_letter || is_digit ||
         std::string_view(" .,;()%+-/='?>").find(letter) != std::string_view::npos;
}

// A colon may begin the name of a picture, ":warning:", or stand in an address, which would become a link.
bool is_plain_colon(std::string_view rest) {
  return rest.front() == ':' && (rest.size() == 1 || rest[1] == ' ' || (rest[1] >= '0' && rest[1] <= '9'));
}

// What would begin a list, a heading or a quotation at the start of a line.
bool begins_block(char letter) {
  return std::string_view("-+>=").find(letter) != std::string_view::npos;
}

std::string with_entities(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const bool is_harmless = is_plain(letter) || is_plain_colon(text.substr(i));
    if (is_harmless && !(i == 0 && begins_block(letter))) {
      out += letter;
    } else {
      out += "&#" + std::to_string(static_cast<unsigned char>(letter)) + ";";
    }
  }
  return out;
}

std::size_t longest_fence(const std::vector<std::string>& lines) {
  std::size_t longest = 2;
  for (const std::string& line : lines) {
    std::size_t run = 0;
    for (const char letter : line) {
      run = letter == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
  }
  return longest;
}

}  // namespace

std::string markdown_text(std::string_view untrusted) {
  return with_entities(cleaned(untrusted));
}

std::string markdown_code(std::string_view untrusted) {
  return "<code>" + markdown_text(untrusted) + "</code>";
}

std::string markdown_row(const std::vector<std::string>& cells) {
  return "| " + joined(cells, " | ") + " |\n";
}

std::string markdown_table_head(const std::vector<std::string>& titles, std::size_t text_columns) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < titles.size(); ++i) lines.emplace_back(i < text_columns ? "---" : "---:");
  return markdown_row(titles) + markdown_row(lines);
}

std::string markdown_block(std::string_view language, const std::vector<std::string>& untrusted_lines) {
  const std::string fence(longest_fence(untrusted_lines) + 1, '`');
  std::string text = fence + std::string(language) + "\n";
  for (const std::string& line : untrusted_lines) text += cleaned(line) + "\n";
  return text + fence + "\n";
}

}  // namespace turnpike::report
