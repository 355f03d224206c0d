// The function of the program that launches most, for programs whose model is no nn.Module.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

struct OwnFunction {
  std::string file;
  std::uint32_t first_line = 0;  // of its `def`; 0: unknown
  std::string qualified_name;

  // As its `def` writes it.
  std::string name() const { return qualified_name.substr(qualified_name.rfind('.') + 1); }
  // The line of its `def`: "net.py:12".
  std::string site() const;

  friend auto operator<=>(const OwnFunction&, const OwnFunction&) = default;
};

// Whether there are samples of the stretch, and neither samples nor calls show a module's forward anywhere in the run.
bool has_no_modules(const ProcessModel& model);

// With what it calls. It is entered again and again, and neither the optimizer nor the backward pass nor a loader runs
// in it: so the loop over the steps is outside. nullopt: samples show none such that makes most of the launches.
std::optional<OwnFunction> launching_function(const ProcessModel& model);

// The one that makes most launches itself, though it may hold the loop. nullopt: code outside of functions does.
std::optional<OwnFunction> innermost_launching_function(const ProcessModel& model);

// Whether a function is on a stack.
bool is_on_stack(const ProcessModel& model, const OwnFunction& function, std::uint32_t stack);

}  // namespace turnpike::analyze
