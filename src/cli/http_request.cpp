#include "cli/http_request.h"

#include <algorithm>
#include <vector>

namespace turnpike::cli {
namespace {

bool is_same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(a) == lower(b);
}

// The values of the header field.
std::vector<std::string_view> headers_of(std::string_view request, std::string_view name) {
  std::vector<std::string_view> values;
  for (auto line = request.find("\r\n"); line != std::string_view::npos; line = request.find("\r\n", line + 2)) {
    std::string_view text = request.substr(line + 2, request.find("\r\n", line + 2) - line - 2);
    const bool is_named = text.size() > name.size() && text[name.size()] == ':' &&
                          std::equal(name.begin(), name.end(), text.begin(), is_same_letter);
    if (!is_named) continue;
    text.remove_prefix(name.size() + 1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    values.push_back(text);
  }
  return values;
}

// "" or ":8100".
bool is_port(std::string_view text) {
  if (text.empty()) return true;
  text.remove_prefix(1);
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

}  // namespace

bool is_whole_request(std::string_view received) {
  return received.find("\r\n\r\n") != std::string_view::npos;
}

HttpRequest parse_request(std::string_view request) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view rest = line.substr(space + 1);
  const auto hosts = headers_of(request, "Host");
  return {line.substr(0, space), rest.substr(0, rest.find_first_of(" ?")), hosts.empty() ? "" : hosts.front(),
          hosts.size() > 1};
}

bool is_this_machine(std::string_view host, std::string_view address) {
  for (const std::string_view name :
       {std::string_view("localhost"), std::string_view("127.0.0.1"), std::string_view("[::1]"), address}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if ((rest.empty() || rest.front() == ':') && is_port(rest)) return true;
  }
  return false;
}

std::string answer_head(const std::string& status, const std::string& type, std::size_t size) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(size) +
         "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer"
         "\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n\r\n";
}

}  // namespace turnpike::cli
