// The browser of the desktop that a command was started from.
#pragma once

#include <string>

namespace turnpike::cli {

// Whether somebody can look at one. Never in CI.
bool has_display();

// Opens an address or a file, by the desktop's own command. Returns at once and tells no failure: what is opened has
// been printed.
void open_browser(const std::string& address);

}  // namespace turnpike::cli
