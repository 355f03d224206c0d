// Texts of a recording inside a page: nothing that they hold can become markup, script or a hidden change of direction.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::report::html {

// As text or as the value of an attribute in quotes. Control characters and those that change the direction of text
// become escapes (\u202e), bytes that are not UTF-8 U+FFFD. Long texts are shortened, as shown().
std::string escaped(std::string_view untrusted);

// The same, for source code: a tab stays a tab.
std::string escaped_code(std::string_view untrusted);

// The same as escaped(), for what is worth nothing when a part is missing: an address.
std::string escaped_whole(std::string_view untrusted);

// With its quotes, inside a script element: no "<" that could end it, and no line separator of JavaScript.
void append_json_string(std::string& out, std::string_view untrusted);

// JSON that was written elsewhere, made fit for a script element in the same way.
std::string json_for_script(std::string_view json);

// At most so many bytes, cut between characters, with "..." in place of the rest.
std::string cut(std::string_view text, std::size_t max_bytes);

}  // namespace turnpike::report::html
