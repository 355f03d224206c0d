// What the JSON of report, diff and check have in common. Not for other headers: it brings the whole JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analyze/compare/figures.h"
#include "report/json/names.h"

namespace turnpike::report {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// An empty text is an unknown one.
Json or_null(const std::string& text);

// Of an enumeration of the report.
template <typename Enum>
Json name_or_null(const std::optional<Enum>& value) {
  return value ? Json(analyze::name_of(*value)) : Json(nullptr);
}

// What every place begins with: its name, file, line, function and operator.
Json where_object(const analyze::Where& where);
// A mean in whole nanoseconds.
Json whole_or_null(std::optional<double> time_ns);
Json figures_object(const analyze::Figures& figures);
// A place with its figures.
Json item_object(const analyze::Item& item);
// As text: indented, ending with a newline, always valid UTF-8.
std::string written(Json object, Names names = Names::kWhole);

}  // namespace turnpike::report
