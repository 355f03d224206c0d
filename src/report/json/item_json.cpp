#include "report/json/item_json.h"

#include <cmath>
#include <utility>

#include "base/cleaned_text.h"
#include "base/shown_text.h"
#include "report/text/incomplete.h"

namespace turnpike::report {
namespace {

// In keys too: losses that this version does not know are named by the file.
void shorten_names(Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kMaxShownBytes) value = shown(text);
  } else if (value.is_object()) {
    Json object = Json::object();
    for (auto& [key, part] : value.items()) {
      shorten_names(part);
      object[shown(key)] = std::move(part);
    }
    value = std::move(object);
  } else if (value.is_array()) {
    for (Json& part : value) shorten_names(part);
  }
}

}  // namespace

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json where_object(const analyze::Where& where) {
  return {{"site", where.site},
          {"file", or_null(where.file)},
          {"line", or_null(where.line)},
          {"function", or_null(where.function)},
          {"op", or_null(where.op)}};
}

Json whole_or_null(std::optional<double> time_ns) {
  return time_ns && std::isfinite(*time_ns) ? Json(std::llround(*time_ns)) : Json(nullptr);
}

Json figures_object(const analyze::Figures& figures) {
  return {{"count", figures.count},
          {"bytes", figures.bytes},
          {"device_time_ns", whole_or_null(figures.device_time_ns)},
          {"blocked_ns", whole_or_null(figures.blocked_ns)},
          {"exposed_ns", whole_or_null(figures.exposed_ns)}};
}

Json item_object(const analyze::Item& item) {
  Json object = where_object(item);
  add_members(object, {{"phase", name_or_null(item.phase)},
                       {"kind", item.direction ? analyze::name_of(*item.direction) : "sync"},
                       {"src_kind", or_null(item.src_kind)},
                       {"dst_kind", or_null(item.dst_kind)},
                       {"forward_site", or_null(item.forward_site)}});
  add_members(object, figures_object(item.figures));
  object["library_site"] = or_null(item.library_site);
  return object;
}

Json incomplete_object(const analyze::InputRemarks& inputs) {
  if (!inputs.is_incomplete()) return nullptr;
  return {{"reason", incomplete_reason(inputs.unread)}, {"losses", inputs.unread}};
}

void add_members(Json& object, Json members) {
  auto& all = object.get_ref<Json::object_t&>();
  for (auto& [key, value] : members.get_ref<Json::object_t&>()) all.emplace_back(key, std::move(value));
}

std::string text_of(Json value, Names names, unsigned int indent) {
  if (names == Names::kShown) shorten_names(value);
  // dump() cannot begin at an indentation. Its line breaks are all layout: those of strings are escaped.
  const std::string dumped = printable_json(value.dump(2, ' ', false, Json::error_handler_t::replace));
  std::string text;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = dumped.find('\n', begin)) != std::string::npos; begin = end + 1) {
    text.append(dumped, begin, end + 1 - begin).append(indent, ' ');
  }
  return text.append(dumped, begin);
}

void ObjectText::begin(const char* key) {
  text_ += text_.empty() ? "{\n  \"" : ",\n  \"";
  text_.append(key).append("\": ");
}

void ObjectText::add(const char* key, Json value) {
  begin(key);
  text_ += text_of(std::move(value), names_, 2);
}

std::string ObjectText::take() {
  text_ += "\n}\n";
  return std::exchange(text_, {});
}

std::string written(Json object, Names names) {
  return text_of(std::move(object), names, 0) + "\n";
}

}  // namespace turnpike::report
