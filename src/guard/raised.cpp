#include "guard/raised.h"

#include <deque>

#include "guard/tables_mutex.h"
#include "guard/this_thread.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

constexpr std::size_t kKept = 64;

struct Raised {
  Event event;
  bool is_exact;
};

// With tables_mutex().
std::deque<Raised>& all_raised() {
  static auto& all = *new std::deque<Raised>;  // threads may outlive main
  return all;
}

}  // namespace

const char* keep_raised(Event event, bool is_exact) {
  if (!is_exact && !event.crossing.is_over) event.text += " (it was called earlier, where no exception could leave)";
  Found* const found = found_of(this_thread());
  if (found == nullptr) return nullptr;
  found->raised = event.text;
  const std::lock_guard lock(tables_mutex());
  auto& all = all_raised();
  all.push_back({std::move(event), is_exact});
  if (all.size() > kKept) all.pop_front();
  return found->raised.c_str();
}

std::string find_raised(std::string_view text) {
  const std::lock_guard lock(tables_mutex());
  const auto& all = all_raised();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (text.find(one->event.text) == std::string_view::npos) continue;
    std::string json = json_of(one->event);
    json.insert(json.size() - 1, one->is_exact ? ",\"exact\":true" : ",\"exact\":false");
    return json;
  }
  return {};
}

}  // namespace turnpike::guard
