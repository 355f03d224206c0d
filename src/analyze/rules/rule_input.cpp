// The places that the rules look at.
#include "analyze/rules/rule_input.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

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
      if (!is_mostly_in(group.calls, copies_of(site, group.direction))) continue;
      (group.direction == Direction::kHostToDevice ? site.is_up_grouped : site.is_down_grouped) = true;
    }
  }
}

// Notes which uploads may follow from what the CPU has just read.
class Results {
 public:
  explicit Results(const ProcessModel& model) : model_(model) {}

  // A call of a place, in the order of the program.
  void pass(std::uint32_t call, std::size_t place, SiteCalls& site) {
    const auto direction = direction_of(call);
    if (!direction) return;
    const std::uint32_t thread = model_.call(call).thread;
    if (*direction == Direction::kDeviceToHost && is_held(model_, call)) ++read_by_thread_[thread];
    if (*direction != Direction::kHostToDevice) return;
    if (place >= last_upload_.size()) last_upload_.resize(place + 1);
    const Upload upload{thread, model_.step_of(call), read_by_thread_[thread]};
    const Upload last = std::exchange(last_upload_[place], upload);
    if (last.thread == upload.thread && last.step == upload.step && last.results != upload.results) {
      ++site.uploads_after_results;
    }
  }

 private:
  struct Upload {
    std::uint32_t thread = 0;
    std::uint32_t step = kNone;
    std::uint64_t results = 0;
  };

  std::optional<Direction> direction_of(std::uint32_t call) const {
    for (const std::uint32_t operation : model_.operations_of(call)) {
      const Transfer* transfer = model_.transfer_of(model_.graph().operations[operation]);
      if (transfer != nullptr && transfer->graph_node == 0) return transfer->direction;
    }
    return std::nullopt;
  }

  const ProcessModel& model_;
  std::unordered_map<std::uint32_t, std::uint64_t> read_by_thread_;
  std::vector<Upload> last_upload_;  // by place
};

}  // namespace

RuleInput rule_input(const ProcessModel& model) {
  RuleInput input{model, {}, find_copy_groups(model)};
  std::map<const StackFacts*, std::size_t> by_facts;
  std::map<Where, std::size_t> by_place;
  Results results(model);
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
    results.pass(call, entry->second, input.sites[entry->second]);
  }
  for (SiteCalls& site : input.sites) find_copies(model, site);
  mark_grouped(input);
  return input;
}

}  // namespace turnpike::analyze
