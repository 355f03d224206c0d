// What a browser or a scraper asks of the page server, and the head of the answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace turnpike::cli {

// A browser's request for a page is far shorter.
inline constexpr std::size_t kMaxRequestBytes = 16384;

// Whether the request has ended: behind its empty line.
bool is_whole_request(std::string_view received);

struct HttpRequest {
  std::string_view method;
  std::string_view path;   // without what follows '?'
  std::string_view host;   // "": it names none
  bool has_hosts = false;  // more than one, of which each reader might believe another: the request is none
};

// The parts of a whole request; they are empty where it is none.
HttpRequest parse_request(std::string_view request);

// Whether a Host names this machine itself, or `address`, at whatever port: `ssh -L` and editors forward another port
// than ours. A website whose name leads here sends its own name.
bool is_this_machine(std::string_view host, std::string_view address);

std::string answer_head(const std::string& status, const std::string& type, std::size_t size);

}  // namespace turnpike::cli
