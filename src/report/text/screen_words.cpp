// Names and sentences that the parts of the first screen shorten.
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"

namespace turnpike::report {

std::string screen_place(const std::string& site, std::size_t width) {
  return shortened_start(site, width);
}

std::string first_sentence(const std::string& advice) {
  for (std::size_t at = 0; (at = advice.find(". ", at)) != std::string::npos; ++at) {
    const char next = at + 2 < advice.size() ? advice[at + 2] : ' ';
    // "..., " is code, and so is what goes on in lower case.
    if (next >= 'A' && next <= 'Z') return advice.substr(0, at);
  }
  return advice.ends_with('.') ? advice.substr(0, advice.size() - 1) : advice;
}

}  // namespace turnpike::report
