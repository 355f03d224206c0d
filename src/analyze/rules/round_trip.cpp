// Data comes down from a GPU and goes up to it again: unchanged, or after work that the GPU could do.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/rules/content.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Smaller pieces are equal, or equally large, by chance.
constexpr std::uint64_t kReturnedBytes = 4096;

struct Trips {
  Selection down;
  Selection up;
};
using TripsByPlace = std::map<std::string, Trips>;  // by the place of the upload

const Transfer* transfer_of(const ProcessModel& model, std::uint32_t call, Direction direction) {
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer != nullptr && transfer->direction == direction && transfer->graph_node == 0) return transfer;
  }
  return nullptr;
}

// Finds the copies up that belong to a copy down; asked for each call of the graph in order.
class TripFinder {
 public:
  explicit TripFinder(const ProcessModel& model) : model_(model) {}

  void pass(std::uint32_t call) {
    if (const Transfer* down = transfer_of(model_, call, Direction::kDeviceToHost)) {
      if (down->bytes < kReturnedBytes) return;
      const Down trip = {.call = call, .bytes = down->bytes, .device = down->device};
      last_[model_.call(call).thread] = trip;
      const auto* content = content_of(model_, call, trace::ContentSide::kDestination);
      if (content != nullptr) came_down_[key_of(*content)] = trip;
    } else if (const Transfer* up = transfer_of(model_, call, Direction::kHostToDevice)) {
      if (!is_unchanged(call, *up)) find_changed(call, *up);
      last_.erase(model_.call(call).thread);
    }
  }

  const TripsByPlace& unchanged() const { return unchanged_; }
  const TripsByPlace& changed() const { return changed_; }
  bool is_sampled() const { return is_sampled_; }

 private:
  struct Down {
    std::uint32_t call;
    std::uint64_t bytes;
    std::uint32_t device;
  };

  bool is_unchanged(std::uint32_t call, const Transfer& up) {
    const auto* content = content_of(model_, call, trace::ContentSide::kSource);
    if (content == nullptr) return false;
    const auto down = came_down_.find(key_of(*content));
    // On the way to another GPU the data could not have stayed where it was.
    if (down == came_down_.end() || down->second.device != up.device) return false;
    add(unchanged_, down->second.call, call);
    if (content->hashed_bytes < content->bytes) is_sampled_ = true;
    came_down_.erase(down);
    return true;
  }

  // The last copy of its thread came down from the same GPU, in the same step, and was as large.
  void find_changed(std::uint32_t call, const Transfer& up) {
    const auto down = last_.find(model_.call(call).thread);
    if (down == last_.end() || down->second.bytes != up.bytes || down->second.device != up.device) return;
    if (model_.step_of(down->second.call) == model_.step_of(call)) add(changed_, down->second.call, call);
  }

  void add(TripsByPlace& trips, std::uint32_t down, std::uint32_t up) {
    Trips& at_place = trips[model_.facts_of_call(up).place.site];
    at_place.down.push_back(down);
    at_place.up.push_back(up);
  }

  const ProcessModel& model_;
  std::map<ContentKey, Down> came_down_;
  std::unordered_map<std::uint32_t, Down> last_;  // by thread
  TripsByPlace unchanged_;
  TripsByPlace changed_;
  bool is_sampled_ = false;
};

std::int64_t held_ns_of(const ProcessModel& model, const Selection& calls) {
  std::int64_t sum_ns = 0;
  for (const std::uint32_t call : calls) sum_ns += held_ns(model, call);
  return sum_ns;
}

std::string evidence_of(const ProcessModel& model, const Trips& trips, const std::string& what) {
  const auto bytes = static_cast<double>(transfer_of(model, trips.up.front(), Direction::kHostToDevice)->bytes);
  return times_a_step(model, trips.up.size()) + ", " + bytes_text(bytes) + " each; " + what + " " +
         model.facts_of_call(trips.down.front()).place.site + "; the CPU stood still for " +
         time_a_step(model, held_ns_of(model, trips.down) + held_ns_of(model, trips.up)) + " by both copies";
}

Selection both_of(const Trips& trips) {
  Selection calls = trips.down;
  calls.insert(calls.end(), trips.up.begin(), trips.up.end());
  std::sort(calls.begin(), calls.end());
  return calls;
}

}  // namespace

void find_round_trip(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  TripFinder finder(model);
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) finder.pass(call);
  for (const auto& [site, trips] : finder.unchanged()) {
    if (!is_regular(model, trips.up)) continue;
    found.push_back({.where = line_of(model, trips.up.front()),
                     .title = "uploads what has just come down from the GPU, unchanged",
                     .evidence = evidence_of(model, trips,
                                             "the same data" + doubt_of_sample(finder.is_sampled()) + " came down at"),
                     .advice = "Keep the tensor on the GPU and use it there: values = model(x), without .cpu() or "
                               ".numpy(). If the CPU needs it too: copy = tp.fetch(values) does not wait.",
                     .changes = {{Change::kRemoveSync, trips.down}, {Change::kHoistUpload, trips.up}}});
  }
  for (const auto& [site, trips] : finder.changed()) {
    if (!is_regular(model, trips.up)) continue;
    found.push_back(
        {.where = line_of(model, trips.up.front()),
         .severity = Severity::kInfo,
         .title = "uploads as much as has just come down from the GPU: work on the CPU in between?",
         .evidence = evidence_of(model, trips, "as many bytes came down right before it, at"),
         .advice = "If it is the same data, work on the GPU: values.clamp(0, 1) instead of np.clip(values, 0, 1). "
                   "That is, if it went up again after work on the CPU.",
         .changes = {{Change::kKeepOnDevice, both_of(trips)}}});
  }
}

}  // namespace turnpike::analyze
