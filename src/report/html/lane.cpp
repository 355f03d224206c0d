#include "report/html/lane.h"

namespace turnpike::report::html {

std::uint64_t length_ns(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
}

Depths<Event> spread(std::vector<Event> events) {
  return spread(std::move(events), [](const Event& event) { return Extent{event.start_ns, event.duration_ns}; });
}

}  // namespace turnpike::report::html
