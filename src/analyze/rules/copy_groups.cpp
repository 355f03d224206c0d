// Walks the calls in their order, and puts together what follows each other.
#include "analyze/rules/copy_groups.h"

#include <algorithm>
#include <utility>

#include "analyze/graph/neighbours.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/measure.h"

namespace turnpike::analyze {
namespace {

class Groups {
 public:
  Groups(const ProcessModel& model, Direction direction) : model_(model), direction_(direction) {}

  void pass(std::uint32_t call) {
    if (!is_small_copy(model_, call, direction_) || is_value(call)) return;
    if (!run_.empty() && !follows_directly(model_, run_.back(), call)) close();
    run_.push_back(call);
  }

  void take(std::vector<CopyGroup>& found) {
    close();
    for (CopyGroup& group : groups_) {
      if (is_regular(model_, group.calls)) found.push_back(std::move(group));
    }
  }

 private:
  bool is_value(std::uint32_t call) const {
    if (direction_ != Direction::kDeviceToHost) return false;
    std::uint64_t bytes = 0;
    for (const std::uint32_t operation : model_.operations_of(call)) {
      bytes += model_.transfer_of(model_.graph().operations[operation])->bytes;
    }
    return bytes <= kValueBytes;
  }

  void close() {
    const Selection run = std::exchange(run_, {});
    if (static_cast<double>(run.size()) < kManyPerStep) return;
    std::vector<const StackFacts*> places;
    for (const std::uint32_t call : run) {
      const StackFacts* facts = &model_.facts_of_call(call);
      if (std::find(places.begin(), places.end(), facts) == places.end()) places.push_back(facts);
    }
    if (places.size() < 2) return;
    CopyGroup& group = group_that_starts_at(places.front());
    group.calls.insert(group.calls.end(), run.begin(), run.end());
    for (const StackFacts* facts : places) {
      if (std::find(group.places.begin(), group.places.end(), facts) == group.places.end()) {
        group.places.push_back(facts);
      }
    }
  }

  CopyGroup& group_that_starts_at(const StackFacts* place) {
    const auto known = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const CopyGroup& group) { return group.places.front() == place; });
    if (known != groups_.end()) return *known;
    groups_.push_back({direction_, {place}, {}});
    return groups_.back();
  }

  const ProcessModel& model_;
  Direction direction_;
  Selection run_;
  std::vector<CopyGroup> groups_;
};

}  // namespace

std::vector<CopyGroup> find_copy_groups(const ProcessModel& model) {
  std::vector<CopyGroup> found;
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    Groups groups(model, direction);
    for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) groups.pass(call);
    groups.take(found);
  }
  return found;
}

}  // namespace turnpike::analyze
