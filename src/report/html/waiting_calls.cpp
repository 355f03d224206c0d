#include "report/html/waiting_calls.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "analyze/model/blocking.h"

namespace turnpike::report::html {

std::vector<bool> waiting_calls(const analyze::Timeline& timeline) {
  std::vector<bool> waits(timeline.calls.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i] = timeline.calls[i].kind == trace::CallKind::kSynchronize;
  }
  std::vector<const analyze::Transfer*> by_call;
  by_call.reserve(timeline.transfers.size());
  for (const analyze::Transfer& transfer : timeline.transfers) {
    if (transfer.call != analyze::kNone) by_call.push_back(&transfer);
  }
  const auto comes_before = [](const auto* a, const auto* b) { return a->call < b->call; };
  if (!std::is_sorted(by_call.begin(), by_call.end(), comes_before)) {
    std::stable_sort(by_call.begin(), by_call.end(), comes_before);
  }
  for (std::size_t i = 0, end = 0; i < by_call.size(); i = end) {
    while (end < by_call.size() && by_call[end]->call == by_call[i]->call) ++end;
    const std::span<const analyze::Transfer* const> of_call(by_call.data() + i, end - i);
    if (analyze::is_held_by_copy(timeline.calls[by_call[i]->call], of_call).value_or(false)) {
      waits[by_call[i]->call] = true;
    }
  }
  return waits;
}

}  // namespace turnpike::report::html
