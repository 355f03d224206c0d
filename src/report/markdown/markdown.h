// GitHub's Markdown: untrusted text that stays text, tables, code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace turnpike::report {

// Untrusted text that shows as it is: no markup, no link, no mention of a user, one line.
std::string markdown_text(std::string_view untrusted);
// The same as code in a line.
std::string markdown_code(std::string_view untrusted);
// A row of a table. `cells` are Markdown.
std::string markdown_row(const std::vector<std::string>& cells);
// A heading row and the line below it, with the columns behind the first `text_columns` to the right.
std::string markdown_table_head(const std::vector<std::string>& titles, std::size_t text_columns);
// Lines in a fenced block that no line of them can end. `language`: as "diff".
std::string markdown_block(std::string_view language, const std::vector<std::string>& untrusted_lines);

}  // namespace turnpike::report
