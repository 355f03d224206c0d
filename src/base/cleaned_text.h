// Untrusted bytes made printable.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

// Whether GitHub's runner obeys a line in the log of a job because of what `rest` begins with: "##[" anywhere in a
// line, and "::" where `may_begin_line`.
bool starts_command(std::string_view rest, bool may_begin_line);

// Printable UTF-8 from any bytes: control characters, invalid bytes and invisible or direction-changing characters
// become escapes (\x1b, \u202e), so that a file name can neither command the terminal nor hide. So does the first
// character of what GitHub's runner obeys in the log of a job: "::" at the start of the text or behind a blank, and
// "##[". `kept`: control characters that stay.
std::string cleaned(std::string_view untrusted, std::string_view kept = {});

// JSON that says the same, and that a terminal and the log of a job show as it is. `json` is valid, and escapes what is
// below a space.
std::string printable_json(std::string json);
// The character as JSON's escape of it (\u202e, or a pair of surrogates).
void append_json_escape(std::string& json, char32_t value);

}  // namespace turnpike
