// What the JSON of report, diff and check have in common. Not for other headers: it brings the whole JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analyze/compare/figures.h"
#include "analyze/report.h"
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
// Why the inputs are incomplete; null: they are complete. Every command with --json has it as `incomplete`.
Json incomplete_object(const analyze::InputRemarks& inputs);
// Appends members whose keys are not yet in `object`. Moves the values, and does not check for duplicates.
void add_members(Json& object, Json members);

// The text of `value`, indented for that depth.
std::string text_of(Json value, Names names, unsigned int indent);

// Writes an object member by member. A tree of a large report would take many times the memory of its text.
class ObjectText {
 public:
  explicit ObjectText(Names names) : names_(names) {}

  void add(const char* key, Json value);
  // An array; `text_of_item` gives the text of each, by number, at kItemIndent.
  static constexpr unsigned int kItemIndent = 4;
  template <typename TextOfItem>
  void add_array(const char* key, std::size_t count, const TextOfItem& text_of_item) {
    begin(key);
    text_ += '[';
    for (std::size_t i = 0; i < count; ++i) {
      text_ += i == 0 ? "\n    " : ",\n    ";
      text_ += text_of_item(i);
    }
    text_ += count == 0 ? "]" : "\n  ]";
  }
  // Ends the text as written() does.
  std::string take();

 private:
  void begin(const char* key);

  Names names_;
  std::string text_;
};

// As text: indented, ending with a newline, always valid UTF-8.
std::string written(Json object, Names names = Names::kWhole);

}  // namespace turnpike::report
