// Reports a crossing that a rule forbids to the user.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "guard/crossing.h"
#include "guard/place.h"
#include "guard/rules.h"

namespace turnpike::guard {

struct Event {
  Kind kind = Kind::kD2h;  // the rule's
  Crossing crossing{};
  std::shared_ptr<const Place> place;  // not owned where the place is kept for good
  std::string op;
  std::string text;  // the whole sentence, with the prefix below
};

// What marks our exceptions among those of PyTorch.
inline constexpr std::string_view kPrefix = "turnpike.guard: ";

// `rule` is what forbids it. The crossing is complete.
Event make_event(Kind kind, const Crossing& crossing, const Place& place, std::string op, const Rule& rule);

// "d2h of 4 B by aten::item at train.py:42 in train()", for the log.
std::string what_happened(const Event& event);

// One JSON object.
std::string json_of(const Event& event);
// In quotes, for JSON.
std::string json_text(std::string_view text);

}  // namespace turnpike::guard
