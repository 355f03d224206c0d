#include "analyze/budget/site_pattern.h"

#include <string>

namespace turnpike::analyze {

bool matches_site(std::string_view pattern, const Item& item) {
  const std::string_view function = item.function ? std::string_view(*item.function) : std::string_view();
  if (!item.file) {
    const bool is_native = matches_glob(pattern, item.site) || matches_glob(pattern, function);
    return is_native || (item.forward_site && matches_site(pattern, *item.forward_site));
  }
  return matches_place(pattern, *item.file, item.line ? std::to_string(*item.line) : std::string(), function);
}

bool matches_site(std::string_view pattern, std::string_view site) {
  if (matches_glob(pattern, site)) return true;
  const SiteParts place = split_site(site);
  const bool has_line = !place.rest.empty() && place.rest.find_first_not_of("0123456789") == std::string_view::npos;
  return has_line && matches_place(pattern, place.file, place.rest, {});
}

}  // namespace turnpike::analyze
