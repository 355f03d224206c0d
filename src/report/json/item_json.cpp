#include "report/json/item_json.h"

#include <cmath>

namespace turnpike::report {

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
  Json object = {{"site", item.site},
                 {"file", or_null(item.file)},
                 {"line", or_null(item.line)},
                 {"function", or_null(item.function)},
                 {"op", or_null(item.op)},
                 {"phase", item.phase ? Json(analyze::name_of(*item.phase)) : Json(nullptr)},
                 {"kind", item.direction ? analyze::name_of(*item.direction) : "sync"},
                 {"src_kind", or_null(item.src_kind)},
                 {"dst_kind", or_null(item.dst_kind)},
                 {"forward_site", or_null(item.forward_site)}};
  object.update(figures_object(item.figures));
  return object;
}

std::string written(const Json& object) {
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace turnpike::report
