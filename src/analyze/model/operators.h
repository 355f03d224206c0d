// The PyTorch operator behind a frame: its symbol says it (base/operator_name.h), or another tool's file outright.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "trace/process.h"

namespace turnpike::analyze {

struct Operators {
  std::optional<std::string> outermost;  // what the innermost line of Python called, or the node of a backward pass
  std::optional<std::string> innermost;
};

// `frames`: innermost first.
Operators operators_of(std::span<const trace::Frame* const> frames);

}  // namespace turnpike::analyze
