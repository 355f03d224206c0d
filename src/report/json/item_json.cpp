#include "report/json/item_json.h"

#include <cmath>
#include <utility>

#include "base/shown_text.h"

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
  object.update({{"phase", name_or_null(item.phase)},
                 {"kind", item.direction ? analyze::name_of(*item.direction) : "sync"},
                 {"src_kind", or_null(item.src_kind)},
                 {"dst_kind", or_null(item.dst_kind)},
                 {"forward_site", or_null(item.forward_site)}});
  object.update(figures_object(item.figures));
  object["library_site"] = or_null(item.library_site);
  return object;
}

std::string written(Json object, Names names) {
  if (names == Names::kShown) shorten_names(object);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace turnpike::report
