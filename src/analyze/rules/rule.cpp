// The list of the rules, and the places that they look at.
#include "analyze/rules/rule.h"

#include <algorithm>
#include <array>

#include "analyze/rules/copy_groups.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

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

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

RuleInput rule_input(const ProcessModel& model) {
  RuleInput input{model, {}, find_copy_groups(model)};
  std::map<const StackFacts*, std::size_t> index;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (model.call(call).kind == trace::CallKind::kLaunch) continue;
    const StackFacts& facts = model.facts_of_call(call);
    const auto [entry, is_new] = index.try_emplace(&facts, input.sites.size());
    if (is_new) input.sites.push_back({&facts, {}});
    input.sites[entry->second].calls.push_back(call);
  }
  mark_grouped(input);
  return input;
}

std::span<const Rule> all_rules() {
  static constexpr std::array kRules = {
      Rule{"pageable_async_copy", find_pageable_async_copy},
      Rule{"blocking_copy", find_blocking_copy},
      Rule{"implicit_sync", find_implicit_sync},
      Rule{"needless_explicit_sync", find_needless_explicit_sync},
      Rule{"repeated_upload", find_repeated_upload},
      Rule{"round_trip", find_round_trip},
      Rule{"many_small_copies", find_many_small_copies},
      Rule{"copy_on_compute_stream", find_copy_on_compute_stream},
      Rule{"peer_copy_serialised", find_peer_copy_serialised},
      Rule{"strided_or_converting_copy", find_strided_or_converting_copy},
      Rule{"slow_link", find_slow_link},
      Rule{"pinning_in_loop", find_pinning_in_loop},
      Rule{"late_loader", find_late_loader},
      Rule{"launch_bound", find_launch_bound},
      Rule{"copies_in_step", find_copies_in_step},
      Rule{"alloc_free_sync", find_alloc_free_sync},
      Rule{"unsafe_read", find_unsafe_read},
  };
  return kRules;
}

}  // namespace turnpike::analyze
