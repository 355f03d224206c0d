// Counts from the records; words for people.
#include "analyze/rules/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyze/graph/held.h"
#include "analyze/model/symbols.h"

namespace turnpike::analyze {
namespace {

// Of a step: less is within what the re-timing cannot tell.
constexpr double kMinShare = 0.01;
// Without steps, what comes so often comes all the time.
constexpr std::size_t kOftenWithoutSteps = 5;

std::vector<const Transfer*> transfers_of(const ProcessModel& model, std::uint32_t call) {
  return transfers_among(model.timeline(), model.graph(), model.operations_of(call));
}

bool is_held_by_itself(const ProcessModel& model, std::uint32_t call) {
  return is_held_by_its_copies(model.timeline(), model.graph(), model.call(call), model.operations_of(call));
}

bool is_repeated(const ProcessModel& model, const Selection& calls) {
  std::int64_t longest_ns = 0;
  for (const std::uint32_t call : calls) longest_ns = std::max(longest_ns, model.call(call).duration_ns());
  return calls.size() >= kOftenWithoutSteps && 2 * longest_ns < duration_ns(model, calls);
}

}  // namespace

bool is_held(const ProcessModel& model, std::uint32_t call) {
  return model.synchronisation_of(call) != kNone || is_held_by_itself(model, call);
}

std::int64_t held_ns(const ProcessModel& model, std::uint32_t call) {
  const std::uint32_t synchronisation = model.synchronisation_of(call);
  const std::int64_t behind_ns = synchronisation == kNone ? 0 : model.call(synchronisation).duration_ns();
  return behind_ns + (is_held_by_itself(model, call) ? model.call(call).duration_ns() : 0);
}

void find_copies(const ProcessModel& model, SiteCalls& site) {
  for (const std::uint32_t call : site.calls) {
    std::array<bool, kDirectionCount> is_counted{};  // copies of a CUDA graph alone make no call of a place
    const auto transfers = transfers_of(model, call);
    for (const Transfer* transfer : transfers) {
      const auto direction = static_cast<std::size_t>(transfer->direction);
      if (transfer->graph_node != 0 || std::exchange(is_counted[direction], true)) continue;
      site.copies[direction].push_back(call);
      site.counts[direction].host_ns += held_ns(model, call);
    }
    for (const Transfer* transfer : transfers) {
      if (!is_counted[static_cast<std::size_t>(transfer->direction)]) continue;
      CopyCount& sum = site.counts[static_cast<std::size_t>(transfer->direction)];
      sum.count += transfer->count;
      sum.bytes += transfer->bytes;
      sum.device_ns += transfer->duration_ns();
      const bool is_pageable =
          transfer->src_kind == trace::MemoryKind::kPageable || transfer->dst_kind == trace::MemoryKind::kPageable;
      if (is_pageable) sum.pageable_count += transfer->count;
    }
  }
}

const CopyCount& count_copies(const SiteCalls& site, Direction direction) {
  return site.counts[static_cast<std::size_t>(direction)];
}

const Selection& copies_of(const SiteCalls& site, Direction direction) {
  return site.copies[static_cast<std::size_t>(direction)];
}

bool is_on_stack(const Place& place, std::string_view part) {
  return std::any_of(place.stack.begin(), place.stack.end(),
                     [=](const std::string& frame) { return frame.find(part) != frame.npos; });
}

Where without_library(Where where) {
  where.library_site.reset();
  return where;
}

Where line_of(const ProcessModel& model, std::uint32_t call) {
  return without_library(model.facts_of_call(call).place);
}

bool is_link_known(const ProcessModel& model, const Selection& copies, Direction direction) {
  if (copies.empty()) return false;
  const std::uint32_t operation = model.operations_of(copies.front()).front();
  return model.link_gbps(model.graph().operations[operation].device, direction).has_value();
}

bool matters(const ProcessModel& model, std::int64_t total_ns) {
  const double steps = static_cast<double>(model.step_count());
  return static_cast<double>(total_ns) >= kMinShare * model.measured_step_ns() * steps;
}

Selection calls_of(const SiteCalls& site, const ProcessModel& model, std::initializer_list<trace::CallKind> kinds) {
  Selection calls;
  for (const std::uint32_t call : site.calls) {
    if (std::find(kinds.begin(), kinds.end(), model.call(call).kind) != kinds.end()) calls.push_back(call);
  }
  return calls;
}

std::set<std::uint32_t> steps_of(const ProcessModel& model, const Selection& calls) {
  std::set<std::uint32_t> steps;
  for (const std::uint32_t call : calls) steps.insert(model.step_of(call));
  return steps;
}

bool is_regular(const ProcessModel& model, const Selection& calls) {
  if (!model.steps()) return is_repeated(model, calls);
  return 2 * steps_of(model, calls).size() >= model.step_count();
}

bool is_recurring(const ProcessModel& model, const Selection& calls) {
  return model.steps() ? steps_of(model, calls).size() > 1 : calls.size() >= kOftenWithoutSteps;
}

std::int64_t duration_ns(const ProcessModel& model, const Selection& calls) {
  std::int64_t sum_ns = 0;
  for (const std::uint32_t call : calls) sum_ns += model.call(call).duration_ns();
  return sum_ns;
}

std::vector<Interval> pauses_before(const ProcessModel& model, const Selection& calls) {
  std::vector<Interval> pauses;
  for (const std::uint32_t call : calls) {
    const std::uint32_t before = model.graph().previous_call[call];
    if (before != kNone) pauses.push_back({model.call(before).end_ns, model.call(call).start_ns});
  }
  return pauses;
}

const char* each_step_text(const ProcessModel& model) {
  return model.steps() ? "in each step" : "again and again";
}

std::string times_a_step(const ProcessModel& model, std::uint64_t count) {
  if (!model.steps()) return count == 1 ? "once" : std::to_string(count) + " times";
  const double each = static_cast<double>(count) / static_cast<double>(model.step_count());
  if (each < 0.95) return "in " + std::to_string(count) + " of " + std::to_string(model.step_count()) + " steps";
  if (each < 1.05) return "once a step";
  if (std::abs(each - 2) < 0.05) return "twice a step";
  const double rounded = std::round(each);
  if (std::abs(each - rounded) < 0.05) return std::to_string(static_cast<std::uint64_t>(rounded)) + " times a step";
  return number_text(each) + " times a step";
}

std::string time_a_step(const ProcessModel& model, std::int64_t total_ns) {
  const auto total = static_cast<double>(total_ns);
  if (!model.steps()) return time_text(total);
  return time_text(total / static_cast<double>(model.step_count())) + " a step";
}

std::string time_with_idle_gpu(const ProcessModel& model, std::int64_t total_ns, std::int64_t idle_ns) {
  constexpr double kNearlyAllPct = 95;
  const std::string time = time_a_step(model, total_ns);
  if (100.0 * static_cast<double>(idle_ns) >= kNearlyAllPct * static_cast<double>(total_ns)) {
    return time + ", and the GPU was idle meanwhile";
  }
  return time + ", of which the GPU was idle for " + time_a_step(model, idle_ns);
}

std::string mean_bytes_text(const CopyCount& copies) {
  if (copies.count == 0) return bytes_text(0);
  return bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count));
}

std::string kernel_text(const std::string& symbol) {
  constexpr std::size_t kMostBytes = 48;
  std::string name = short_function_name(symbol);
  // Tools hand over names that are no symbols any more: "void at::native::kernel<4, float>(...)".
  name = name.substr(0, name.find_first_of("<("));
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.size() > kMostBytes) name = name.substr(0, kMostBytes - 3) + "...";
  return name.empty() ? "a kernel" : "the kernel " + name;
}

}  // namespace turnpike::analyze
