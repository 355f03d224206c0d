// Names as an attacker would choose them.
#pragma once

#include <string>
#include <vector>

namespace turnpike::report::html {

inline std::vector<std::string> hostile_names() {
  using namespace std::string_literals;
  return {"</script><script>window.__pwned=1</script>",
          "<!--<script>",
          "</SCRIPT >",
          "</title><img src=x onerror=\"window.__pwned=1\">",
          "]]>",
          "\" onmouseover=\"window.__pwned=1",
          "' onfocus='window.__pwned=1' autofocus='",
          "${window.__pwned=1}{{x}}",
          "tp-report",
          "\xE2\x80\xA8line\xE2\x80\xA9separators",
          "NUL \0 inside"s,
          "\x1b]0;title\x07",
          "lone surrogate \xED\xA0\x80, overlong \xC0\xBC, cut off \xE2\x80",
          "\xFF\xFE",
          "right to left \xE2\x80\xAE override",
          "__proto__",
          "constructor",
          "toString",
          "javascript:window.__pwned=1",
          "data:text/html,<script>window.__pwned=1</script>",
          "=cmd|' /C calc'!A0",
          "&lt;script&gt;&amp;&#60;script>",
          std::string(1 << 16, '<')};
}

}  // namespace turnpike::report::html
