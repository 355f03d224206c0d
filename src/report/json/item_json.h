// What the JSON of diff and of check have in common. Not for other headers: it brings the whole JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analyze/compare/figures.h"

namespace turnpike::report {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A mean in whole nanoseconds.
Json whole_or_null(std::optional<double> time_ns);
Json figures_object(const analyze::Figures& figures);
// A place with its figures.
Json item_object(const analyze::Item& item);
// As text: indented, ending with a newline, always valid UTF-8.
std::string written(const Json& object);

}  // namespace turnpike::report
