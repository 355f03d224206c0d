// Measures the link once a machine, after a recording: the reports that follow then know what it can do.
#pragma once

#include <chrono>
#include <string>

namespace turnpike::cli {

// In a process of its own, which is ended when it takes longer than `patience`. Does nothing where rates of this
// machine are kept, while another `turnpike record` measures, and for ten minutes after a failure. Returns a sentence
// about what was measured, or why not; "" where there is nothing to say.
std::string measure_link_once(std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace turnpike::cli
