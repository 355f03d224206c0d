// The exceptions thrown last, so that whoever catches one can ask for more than its text.
#pragma once

#include <string>
#include <string_view>

#include "guard/event.h"

namespace turnpike::guard {

// Keeps an event that is about to be thrown; the text to throw, valid until the thread's next call. `is_exact`: it is
// thrown by the call itself, and not by a later one. nullptr: the thread is ending, and nothing is thrown.
const char* keep_raised(Event event, bool is_exact);

// The newest of the last 64 whose text stands in `text`, as a JSON object; empty: none.
std::string find_raised(std::string_view text);

}  // namespace turnpike::guard
