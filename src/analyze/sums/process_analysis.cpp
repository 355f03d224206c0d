// Visits the transfers call by call, then the synchronisations.
#include "analyze/sums/process_analysis.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analyze/model/batch_gaps.h"
#include "analyze/model/blocking.h"
#include "analyze/model/call_path.h"
#include "analyze/model/direction.h"
#include "analyze/model/loading.h"
#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {
namespace {

bool is_allocation(trace::CallKind kind) {
  using trace::CallKind;
  switch (kind) {
    case CallKind::kDeviceAlloc:
    case CallKind::kDeviceFree:
    case CallKind::kHostAlloc:
    case CallKind::kHostFree:
    case CallKind::kHostRegister:
    case CallKind::kHostUnregister:
    case CallKind::kManagedAlloc:
      return true;
    default:
      return false;
  }
}

// Whether the driver loads code or sets something up in a call: issuing work takes microseconds. The launch of a large
// graph may take long.
bool does_set_up(const Call& call) {
  return call.duration_ns() > kQuietNs && !is_allocation(call.kind) && call.kind != trace::CallKind::kGraphLaunch;
}

// Programs have some thousand. A million of them, each with its row, would take gigabytes.
constexpr std::size_t kMaxFullStacks = 4'096;

bool is_in_graph(const Transfer& transfer) {
  return transfer.graph_node != 0;
}

bool is_pageable(const Transfer& transfer) {
  return transfer.direction != Direction::kMemset &&
         (transfer.src_kind == trace::MemoryKind::kPageable || transfer.dst_kind == trace::MemoryKind::kPageable);
}

bool holds(const Interval& interval, std::int64_t time_ns) {
  return interval.start_ns <= time_ns && time_ns < interval.end_ns;
}

// In the order in which the transfers' calls were made; those of one call in that of the device.
std::vector<std::uint32_t> ordered_by_call(const std::vector<Transfer>& transfers) {
  std::vector<std::uint32_t> order(transfers.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) { return transfers[a].call < transfers[b].call; };
  // They mostly are.
  if (!std::is_sorted(order.begin(), order.end(), is_before)) std::stable_sort(order.begin(), order.end(), is_before);
  return order;
}

void add_stream(Site& site, std::uint32_t stream) {
  if (stream == trace::kUnknownId) return;
  if (std::find(site.streams.begin(), site.streams.end(), stream) == site.streams.end()) site.streams.push_back(stream);
}

// Needs the times of the call.
void count_synchronisation(Syncs& syncs, const Call& call, bool is_of_transfer) {
  ++syncs.count;
  add_known(syncs.host_blocked_ns, call.duration_ns());
  if (!is_of_transfer) return;
  ++syncs.of_transfers_count;
  add_known(syncs.of_transfers_host_blocked_ns, call.duration_ns());
}

}  // namespace

std::size_t ProcessAnalysis::RowKeyHash::operator()(const RowKey& key) const {
  const std::uint64_t both = std::uint64_t{key.facts} << 32 | key.forward_facts;
  return (both * 0x9E3779B97F4A7C15u) ^ (std::uint64_t{key.direction_and_kinds} * 0xC2B2AE3D27D4EB4Fu);
}

ProcessAnalysis::ProcessAnalysis(RunSums& sums, const trace::Process& process, const Timeline& timeline,
                                 const Steps* like)
    : sums_(sums),
      process_(process),
      timeline_(timeline),
      stacks_(process, timeline, kMaxFullStacks),
      forward_lines_(timeline),
      activity_(process, timeline, are_kernels_recorded(timeline, std::string(value_of(process, "detail")))),
      paired_(pair_synchronisations(timeline, stacks_)),
      host_threads_(host_threads_of(timeline)),
      order_(ordered_by_call(timeline.transfers)),
      rows_of_transfer_(timeline.transfers.size()),
      steps_(find_own_steps(like)),
      lines_of_transfers_(sums.lines),
      lines_of_synchronisations_(sums.lines) {}

void ProcessAnalysis::add_transfers() {
  const auto call_of = [this](std::uint32_t index) { return timeline_.transfers[index].call; };
  std::vector<const Transfer*> group;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    group.push_back(&timeline_.transfers[order_[i]]);
    const bool is_last = i + 1 == order_.size() || call_of(order_[i + 1]) != call_of(order_[i]);
    if (!is_last && call_of(order_[i]) != kNone) continue;
    add_caused_by(call_of(order_[i]), group);
    group.clear();
  }
}

void ProcessAnalysis::add_caused_by(std::uint32_t call_index, std::span<const Transfer* const> transfers) {
  TransferCost host_cost;
  if (call_index != kNone) {
    const std::uint32_t paired = paired_[call_index];
    const Call* synchronisation = paired == kNone ? nullptr : &timeline_.calls[paired];
    host_cost = host_cost_of(timeline_.calls[call_index], synchronisation, transfers);
    if (paired != kNone) synchronisations_of_transfers_.insert(paired);
  }
  for (const Transfer* transfer : transfers) {
    add_transfer(*transfer, host_cost);
    // The call is one, however many transfers it caused: the first carries its time.
    if (host_cost.host_blocked_ns) host_cost.host_blocked_ns = 0;
    if (host_cost.gpu_idle_ns) host_cost.gpu_idle_ns = 0;
  }
}

TransferCost ProcessAnalysis::host_cost_of(const Call& call, const Call* synchronisation,
                                           std::span<const Transfer* const> transfers) {
  TransferCost cost;
  const std::uint32_t device = transfers.front()->device;
  const auto is_held = is_held_by_copy(call, transfers);
  const std::uint32_t row = rows_of(*transfers.front()).site;
  LineTable::Times* const line = lines_of_transfers_.of_row(row, sums_.sites.row(row).site);
  const bool are_timed =
      std::any_of(transfers.begin(), transfers.end(), [](const Transfer* one) { return one->has_times(); });
  const auto add_wait = [&](const Call& waiting) {
    const auto gpu_idle_ns = idle_ns(device, waiting);
    add_known(cost.host_blocked_ns, waiting.duration_ns());
    add_known(cost.gpu_idle_ns, gpu_idle_ns);
    if (line != nullptr) line->add_wait({waiting.start_ns, waiting.end_ns}, gpu_idle_ns);
    note_wait(are_timed ? copy_waits_ : untimed_waits_, waiting);
  };
  if (is_held) {
    cost.host_blocked_ns = 0;
    if (activity_.is_known()) cost.gpu_idle_ns = 0;
  }
  if (is_held.value_or(false)) add_wait(call);
  if (!is_held && !are_timed && call.has_times()) note_wait(untimed_waits_, call);
  if (synchronisation != nullptr && synchronisation->has_times()) add_wait(*synchronisation);
  cost.is_blocked = is_held.value_or(false) || synchronisation != nullptr;
  return cost;
}

void ProcessAnalysis::add_transfer(const Transfer& transfer, TransferCost cost) {
  cost.count = transfer.count;
  cost.bytes = transfer.bytes;
  cost.is_pageable = is_pageable(transfer);
  const auto time_in_steps_ns = time_in_steps(transfer);
  cost.is_in_steps = time_in_steps_ns.has_value();
  if (time_in_steps_ns) {
    sums_.step_counts.add_transfer(*time_in_steps_ns, transfer.direction, cost.count, cost.bytes, cost.host_blocked_ns);
  }
  if (transfer.has_times()) cost.device_time_ns = transfer.duration_ns();
  cost.exposed_ns = activity_.exposed_ns(transfer);
  const Rows& rows = rows_of(transfer);
  SiteSums& sums = sums_.sites.row(rows.site);
  sums.add(cost);
  sums_.paths.add(rows.path, cost);
  add_stream(sums.site, transfer.stream);
  if (transfer.has_times()) {
    LineTable::Times* const line = lines_of_transfers_.of_row(rows.site, sums.site);
    if (line != nullptr) line->copies.push_back({transfer.start_ns, transfer.end_ns});
  }
  sums_.totals[static_cast<std::size_t>(transfer.direction)].add(cost);
  if (sums_.watch.transfer) sums_.watch.transfer(transfer, cost, rows.site);
}

// A transfer belongs to the step whose code asked for it, whenever the device did it.
std::optional<std::int64_t> ProcessAnalysis::time_in_steps(const Transfer& transfer) const {
  const Call* call = transfer.call == kNone ? nullptr : &timeline_.calls[transfer.call];
  const bool has_call_times = call != nullptr && call->has_times();
  if (!has_call_times && !transfer.has_times()) return std::nullopt;
  const std::int64_t time_ns = has_call_times ? call->start_ns : transfer.start_ns;
  return holds(steps_window(), time_ns) ? std::optional(time_ns) : std::nullopt;
}

ProcessAnalysis::Rows ProcessAnalysis::find_rows(const Transfer& transfer, std::uint32_t facts) {
  const Call* call = transfer.call == kNone ? nullptr : &timeline_.calls[transfer.call];
  const auto missing = stacks_.missing_call(transfer);
  const RowKey key{.facts = facts,
                   .forward_facts = call == nullptr || is_in_graph(transfer) ? kNone : forward_facts_of(*call),
                   .direction_and_kinds = static_cast<std::uint32_t>(transfer.direction) |
                                          static_cast<std::uint32_t>(transfer.src_kind) << 8 |
                                          static_cast<std::uint32_t>(transfer.dst_kind) << 16 |
                                          static_cast<std::uint32_t>(is_in_graph(transfer)) << 24 |
                                          static_cast<std::uint32_t>(missing == MissingCall::kEarlier) << 25};
  const auto [entry, is_new] = row_cache_.try_emplace(key, Rows{kNone, kNone});
  if (is_new) {
    const TransferKind kind{.direction = transfer.direction,
                            .src_kind = name_of(transfer.src_kind),
                            .dst_kind = name_of(transfer.dst_kind),
                            .inner_op = stacks_.facts(facts).place.inner_op,
                            .missing_call = missing,
                            .in_graph = is_in_graph(transfer)};
    entry->second = {.site = sums_.sites.row_of(Site{call_site(facts, key.forward_facts, call), kind}),
                     .path = path_row_of(facts, key.forward_facts, call, transfer.direction)};
  }
  return entry->second;
}

// Work of a backward pass that no line of Python made belongs to the line of the forward pass.
std::uint32_t ProcessAnalysis::path_row_of(std::uint32_t facts, std::uint32_t forward_facts, const Call* call,
                                           std::optional<Direction> direction) {
  const StackFacts& made = stacks_.facts(facts);
  const bool is_of_forward_line = stacks_.is_at_forward_line(facts, forward_facts);
  const std::uint32_t shown = is_of_forward_line ? forward_facts : facts;
  const auto [node, is_new] = node_cache_.try_emplace(shown, kNoParent);
  if (is_new) node->second = node_of(stacks_.facts(shown));
  const std::string& api = call == nullptr ? made.place.site : process_.string(call->name);
  return sums_.paths.row_of(node->second, made.place.op.value_or(api) + (is_of_forward_line ? " (backward)" : ""),
                            direction);
}

CallSite ProcessAnalysis::call_site(std::uint32_t facts, std::uint32_t forward_facts, const Call* call) const {
  CallSite site = stacks_.site(facts, forward_facts);
  if (call != nullptr && !process_.string(call->name).empty()) site.api = process_.string(call->name);
  return site;
}

std::uint32_t ProcessAnalysis::forward_facts_of(const Call& call) {
  // Without launches the first call with a number may be of a later operation: a line would be guessed.
  if (!activity_.is_known()) return kNone;
  const std::uint32_t forward = forward_lines_.find(call);
  if (forward == kNone) return kNone;
  const std::uint32_t facts = stacks_.of_call(timeline_.calls[forward]);
  return stacks_.facts(facts).place.file ? facts : kNone;
}

void ProcessAnalysis::add_synchronisations() {
  for (std::uint32_t index = 0; index < timeline_.calls.size(); ++index) {
    if (timeline_.calls[index].kind == trace::CallKind::kSynchronize) add_synchronisation(index);
  }
}

void ProcessAnalysis::add_synchronisation(std::uint32_t call_index) {
  const Call& call = timeline_.calls[call_index];
  const bool is_of_transfer = synchronisations_of_transfers_.contains(call_index);
  const Rows rows = rows_of_synchronisation(call);
  SyncSite& site = sums_.sync_sites.row(rows.site);
  if (!is_of_transfer) {
    TransferCost cost;
    if (call.has_times()) cost = {.host_blocked_ns = call.duration_ns(), .gpu_idle_ns = idle_ns(call.device, call)};
    sums_.paths.add(rows.path, cost);
    if (sums_.watch.synchronisation) sums_.watch.synchronisation(call, cost.gpu_idle_ns, rows.site);
  }
  if (call.has_times() && holds(steps_window(), call.start_ns)) {
    count_synchronisation(site.in_steps, call, is_of_transfer);
    sums_.step_counts.add_synchronisation(call.start_ns, is_of_transfer ? 0 : call.duration_ns());
  }
  ++site.count;
  ++sums_.syncs.count;
  if (is_of_transfer) {
    ++site.of_transfers_count;
    ++sums_.syncs.of_transfers_count;
  }
  if (!call.has_times()) return;
  add_known(site.host_blocked_ns, call.duration_ns());
  add_known(site.gpu_idle_ns, idle_ns(call.device, call));
  add_known(sums_.syncs.host_blocked_ns, call.duration_ns());
  if (is_of_transfer) {
    add_known(site.of_transfers_host_blocked_ns, call.duration_ns());
    add_known(sums_.syncs.of_transfers_host_blocked_ns, call.duration_ns());
  } else {
    note_wait(sync_waits_, call);
    LineTable::Times* const line = lines_of_synchronisations_.of_row(rows.site, site);
    if (line != nullptr) line->add_wait({call.start_ns, call.end_ns}, idle_ns(call.device, call));
  }
}

std::uint32_t ProcessAnalysis::node_of(const StackFacts& facts) {
  std::vector<std::uint32_t> path;
  for (const std::uint32_t id : stacks_.path_of(facts)) {
    const auto [frame, is_new] = path_frame_cache_.try_emplace(id, 0);
    if (is_new) frame->second = sums_.paths.frame_of(path_frame(process_.frames.at(id)));
    path.push_back(frame->second);
  }
  const Place& place = facts.place;
  if (path.empty() && facts.is_place_known) {
    path.push_back(sums_.paths.frame_of({place.site, {}, place.file.value_or(""), place.function.value_or("")}));
  }
  return sums_.paths.node_of(path);
}

ProcessAnalysis::Rows ProcessAnalysis::rows_of_synchronisation(const Call& call) {
  const std::uint32_t facts = stacks_.of_call(call);
  const std::uint32_t forward_facts = forward_facts_of(call);
  const auto [entry, is_new] =
      sync_row_cache_.try_emplace(std::uint64_t{facts} << 32 | forward_facts, Rows{kNone, kNone});
  if (is_new) {
    entry->second = {.site = sums_.sync_sites.row_of(SyncSite{call_site(facts, forward_facts, &call)}),
                     .path = path_row_of(facts, forward_facts, &call, std::nullopt)};
  }
  return entry->second;
}

std::optional<std::int64_t> ProcessAnalysis::idle_ns(std::uint32_t device, const Call& call) const {
  return activity_.idle_ns(activity_.resolve(device), call.start_ns, call.end_ns);
}

void ProcessAnalysis::note_wait(std::vector<HostWait>& waits, const Call& call) const {
  if (!activity_.is_known() || !host_threads_.contains(call.thread)) return;  // only host_activity() asks for them
  waits.push_back({call.start_ns, call.end_ns, static_cast<std::uint32_t>(&call - timeline_.calls.data())});
}

std::optional<FoundSteps> ProcessAnalysis::find_own_steps(const Steps* like) {
  std::vector<std::uint32_t> site_of_transfer(timeline_.transfers.size(), kNone);
  for (const std::uint32_t index : order_) {
    const std::uint32_t facts = stacks_.of_transfer(timeline_.transfers[index]);
    rows_of_transfer_[index] = find_rows(timeline_.transfers[index], facts);
    if (stacks_.facts(facts).is_place_known) site_of_transfer[index] = rows_of_transfer_[index].site;
  }
  return find_steps(process_, timeline_, stacks_, site_of_transfer, like);
}

void ProcessAnalysis::add_to_sums() {
  if (steps_) sums_.step_counts.begin_process(steps_->starts_ns, steps_->window.start_ns, steps_->whole_count);
  add_transfers();
  add_synchronisations();
  sums_.lines.finish_process();
}

ProcessModel ProcessAnalysis::model(std::optional<FoundSteps> steps, const LinkRates& rates) {
  return ProcessModel(process_, timeline_, stacks_, paired_, std::move(steps), rates);
}

IdleTimes ProcessAnalysis::idle_times(Interval span) {
  return IdleTimes(timeline_, stacks_, activity_, host_activity(), host_threads_, span,
                   [this](const Call& call) { return forward_facts_of(call); });
}

const std::vector<Interval>& ProcessAnalysis::loading() {
  if (!loading_) loading_ = find_loading(timeline_, stacks_, host_threads_);
  return *loading_;
}

HostActivity ProcessAnalysis::host_activity() {
  HostActivity host{.copy_waits = std::move(copy_waits_),
                    .sync_waits = std::move(sync_waits_),
                    .untimed_waits = std::move(untimed_waits_)};
  for (const Call& call : timeline_.calls) {
    if (!call.has_times() || !host_threads_.contains(call.thread)) continue;
    host.calls.push_back({call.start_ns, call.end_ns});
    if (is_allocation(call.kind)) note_wait(host.allocations, call);
    if (does_set_up(call)) note_wait(host.long_calls, call);
  }
  const auto add_gap = [&](const Interval& gap) {
    host.batch_gaps.push_back({gap.start_ns, gap.end_ns, first_call_from(gap.end_ns)});
  };
  for (const Interval& gap : loading()) add_gap(gap);
  if (steps_) {
    for (const Interval& gap : find_batch_gaps(timeline_, stacks_, host_threads_, steps_->starts_ns)) add_gap(gap);
  }
  return host;
}

std::uint32_t ProcessAnalysis::first_call_from(std::int64_t start_ns) const {
  const auto& calls = timeline_.calls;
  auto call = std::lower_bound(calls.begin(), calls.end(), start_ns,
                               [](const Call& one, std::int64_t value) { return one.start_ns < value; });
  for (; call != calls.end(); ++call) {
    if (call->has_times() && host_threads_.contains(call->thread)) {
      return static_cast<std::uint32_t>(call - calls.begin());
    }
  }
  return kNone;
}

}  // namespace turnpike::analyze
