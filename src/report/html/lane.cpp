#include "report/html/lane.h"

namespace turnpike::report::html {

Depths<Event> spread(std::vector<Event> events) {
  return spread(std::move(events), [](const Event& event) { return Extent{event.start_ns, event.duration_ns}; });
}

}  // namespace turnpike::report::html
