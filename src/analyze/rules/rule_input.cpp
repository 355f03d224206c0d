// The places that the rules look at.
#include "analyze/rules/rule_input.h"

#include <algorithm>
#include <map>

#include "analyze/rules/copy_groups.h"
#include "analyze/rules/measure.h"

namespace turnpike::analyze {
namespace {

bool is_mostly_in(const Selection& group, const Selection& calls) {
  const auto count = std::count_if(calls.begin(), calls.end(), [&](std::uint32_t call) {
    return std::binary_search(group.begin(), group.end(), call);
  });
  return 2 * static_cast<std::size_t>(count) > calls.size();
}

void mark_grouped(RuleInput& input) {
  for (const CopyGroup& group : input.copy_groups) {
    for (SiteCalls& site : input.sites) {
      if (std::find(group.places.begin(), group.places.end(), site.facts) == group.places.end()) continue;
      if (!is_mostly_in(group.calls, copies_of(input.model, site, group.direction))) continue;
      (group.direction == Direction::kHostToDevice ? site.is_up_grouped : site.is_down_grouped) = true;
    }
  }
}

}  // namespace

RuleInput rule_input(const ProcessModel& model) {
  RuleInput input{model, {}, find_copy_groups(model)};
  std::map<const StackFacts*, std::size_t> by_facts;
  std::map<Where, std::size_t> by_place;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (model.call(call).kind == trace::CallKind::kLaunch) continue;
    const StackFacts& facts = model.facts_of_call(call);
    const auto [entry, is_new_stack] = by_facts.try_emplace(&facts, input.sites.size());
    if (is_new_stack) {
      const auto [place, is_new] = by_place.try_emplace(facts.place, input.sites.size());
      if (is_new) input.sites.push_back({&facts, {}});
      entry->second = place->second;
    }
    input.sites[entry->second].calls.push_back(call);
  }
  mark_grouped(input);
  return input;
}

}  // namespace turnpike::analyze
