// Synchronisations that the program asks for by itself in its steps, after which it reads nothing that they made ready.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Less often than in every other step it is for timing, a check or the end of an epoch.
constexpr double kMinShareOfSteps = 0.5;
// Without steps nobody knows how often that is.
constexpr std::size_t kMinCalls = 5;

// The operation that a call waited for, as the graph has it; kNone.
std::uint32_t awaited_by(const Graph& graph, std::uint32_t call) {
  const std::uint32_t first = graph.operation_start(0);
  for (const Edge& edge : graph.edges_to(graph.call_end(call))) {
    if (edge.kind == EdgeKind::kWait && edge.from >= first) return (edge.from - first) / 2;
  }
  return kNone;
}

// Follows the calls in order and tells which synchronisations something may rest on.
class NeededWaits {
 public:
  explicit NeededWaits(const ProcessModel& model) : model_(model) {
    for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) pass(call);
  }

  bool has(std::uint32_t call) const { return needed_.contains(call); }

 private:
  void pass(std::uint32_t call) {
    const std::uint32_t paired = model_.synchronisation_of(call);
    if (paired != kNone) needed_.insert(paired);
    if (gives_memory_back(model_.call(call).kind) && last_wait_ != kNone) needed_.insert(last_wait_);
    if (model_.call(call).kind == trace::CallKind::kSynchronize) {
      last_wait_ = call;
      if (is_reading_ || is_of_copy_before(call) || is_guard_of_source(call)) needed_.insert(call);
      is_reading_ = false;
    } else if (is_unawaited_download(call)) {
      is_reading_ = true;
    }
  }

  // Page-locked memory may be given back only when no copy uses it any more.
  static bool gives_memory_back(trace::CallKind kind) {
    return kind == trace::CallKind::kHostUnregister || kind == trace::CallKind::kHostFree;
  }

  // The host may read what such a copy brings only behind a synchronisation.
  bool is_unawaited_download(std::uint32_t call) const {
    const auto& operations = model_.operations_of(call);
    const bool is_download = std::any_of(operations.begin(), operations.end(), [&](std::uint32_t operation) {
      const Transfer* transfer = model_.transfer_of(model_.graph().operations[operation]);
      return transfer != nullptr && transfer->direction == Direction::kDeviceToHost;
    });
    return is_download && !is_held(model_, call);
  }

  // An operator's wait, in a recording that does not name operators.
  bool is_of_copy_before(std::uint32_t call) const {
    const std::uint32_t before = model_.graph().previous_call[call];
    if (before == kNone || model_.call(before).kind != trace::CallKind::kCopy) return false;
    const StackFacts& facts = model_.facts_of_call(call);
    return !facts.place.op && facts.python_frames == model_.facts_of_call(before).python_frames;
  }

  // A wait for the event of an upload is how a program learns that it may overwrite the source.
  bool is_guard_of_source(std::uint32_t call) const {
    const std::string& name = model_.process().string(model_.call(call).name);
    if (name.find("Event") == std::string::npos) return false;
    const std::uint32_t awaited = awaited_by(model_.graph(), call);
    return awaited != kNone && model_.transfer_of(model_.graph().operations[awaited]) != nullptr;
  }

  const ProcessModel& model_;
  std::set<std::uint32_t> needed_;
  bool is_reading_ = false;
  std::uint32_t last_wait_ = kNone;
};

// PyTorch waits before it captures a CUDA graph: nobody can take that away.
bool is_before_capture(const Place& place) {
  return is_on_stack(place, "torch/cuda/graphs.py");
}

Selection explicit_syncs_of(const ProcessModel& model, const NeededWaits& needed, const SiteCalls& site) {
  Selection calls;
  if (site.facts->place.op || !site.facts->is_place_known || is_before_capture(site.facts->place)) return calls;
  for (const std::uint32_t call : site.calls) {
    if (model.call(call).kind == trace::CallKind::kSynchronize && !needed.has(call)) calls.push_back(call);
  }
  return calls;
}

bool is_in_most_steps(const ProcessModel& model, const Selection& calls) {
  if (!model.steps()) return calls.size() >= kMinCalls;
  std::set<std::uint32_t> steps;
  for (const std::uint32_t call : calls) steps.insert(model.step_of(call));
  steps.erase(kNone);
  return static_cast<double>(steps.size()) >= kMinShareOfSteps * static_cast<double>(model.step_count());
}

std::string name_of_operation(const ProcessModel& model, const Operation& operation) {
  const Transfer* transfer = model.transfer_of(operation);
  if (transfer != nullptr) {
    return transfer->direction == Direction::kMemset ? "a memset"
                                                     : std::string("a ") + name_of(transfer->direction) + " copy";
  }
  return kernel_text(model.process().string(model.timeline().kernels[operation.kernel].name));
}

// Whom most of the calls waited for; empty when that is not known.
std::string awaited_text(const ProcessModel& model, const Selection& calls) {
  std::map<std::string, std::size_t> counts;
  for (const std::uint32_t call : calls) {
    const std::uint32_t awaited = awaited_by(model.graph(), call);
    if (awaited == kNone) continue;
    const Operation& operation = model.graph().operations[awaited];
    ++counts["stream " + std::to_string(operation.stream) + " of GPU " + std::to_string(operation.device) +
             ", last for " + name_of_operation(model, operation)];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : " for the work on " + most->first;
}

struct NeedlessSite {
  std::string site;
  Selection calls;
};

// Without one of them the next one waits, so that only all of them together gain something.
Selection calls_of(const std::vector<NeedlessSite>& sites) {
  Selection all;
  for (const NeedlessSite& site : sites) all.insert(all.end(), site.calls.begin(), site.calls.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::string evidence_of(const ProcessModel& model, const std::vector<NeedlessSite>& all, const NeedlessSite& one) {
  std::int64_t waited_ns = 0;
  for (const std::uint32_t call : one.calls) waited_ns += model.call(call).duration_ns();
  std::string text = times_a_step(model, one.calls.size()) + "; the CPU waited " + time_a_step(model, waited_ns) +
                     awaited_text(model, one.calls);
  for (const NeedlessSite& other : all) {
    if (other.site != one.site) text += "; the gain is that of removing the one at " + other.site + " as well";
  }
  return text;
}

}  // namespace

void find_needless_explicit_sync(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  const NeededWaits needed(model);
  std::vector<NeedlessSite> sites;
  for (const SiteCalls& site : input.sites) {
    Selection calls = explicit_syncs_of(model, needed, site);
    if (!calls.empty() && is_in_most_steps(model, calls)) sites.push_back({site.facts->place.site, std::move(calls)});
  }
  const Selection all = calls_of(sites);
  for (const NeedlessSite& site : sites) {
    const std::string& api = model.process().string(model.call(site.calls.front()).name);
    found.push_back({.where = line_of(model, site.calls.front()),
                     .title = api + " makes the CPU wait, and nothing is read after it",
                     .evidence = evidence_of(model, sites, site),
                     .advice = "Remove it: PyTorch keeps the order on the GPU, and reading a result waits for it by "
                               "itself. For timing, record two torch.cuda.Event(enable_timing=True) and ask for "
                               "elapsed_time() after the loop.",
                     .edit = {LineEdit::Kind::kRemove},
                     .changes = {{Change::kRemoveSync, all}}});
  }
}

}  // namespace turnpike::analyze
