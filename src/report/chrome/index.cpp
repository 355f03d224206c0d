#include "report/chrome/index.h"

#include <algorithm>

namespace turnpike::report {
namespace {

using trace::CallKind;

// A node of a graph is a clone of a clone only so often; a damaged file could make a circle of them.
constexpr int kMaxClones = 16;

// Whether device work can lead back to such a call.
bool can_cause_work(CallKind kind) {
  switch (kind) {
    case CallKind::kOther:
    case CallKind::kCopy:
    case CallKind::kMemset:
    case CallKind::kLaunch:
    case CallKind::kGraphLaunch:
    case CallKind::kPrefetch:
      return true;
    default:
      return false;
  }
}

std::string name_or(const std::string& name, const char* what, std::uint32_t number) {
  return name.empty() ? what + std::to_string(number) : name;
}

}  // namespace

Track track_of(const trace::CallRecord& call) {
  return {TrackKind::kThread, call.thread, 0};
}
Track track_of(const trace::MemcpyRecord& copy) {
  return {TrackKind::kStream, copy.device, copy.stream};
}
Track track_of(const trace::MemsetRecord& memset) {
  return {TrackKind::kStream, memset.device, memset.stream};
}
Track track_of(const trace::KernelRecord& kernel) {
  return {TrackKind::kStream, kernel.device, kernel.stream};
}
Track track_of(const trace::RangeRecord& range) {
  return {TrackKind::kRanges, range.thread, 0};
}
Track track_of(const trace::MigrationRecord& migration) {
  return {TrackKind::kMigrations, migration.device, 0};
}

Track idle_track(std::uint32_t device) {
  return {TrackKind::kIdle, device, 0};
}

bool has_times(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns != trace::kUnknownTime && end_ns != trace::kUnknownTime;
}

void ChromeIndex::on(const trace::CallRecord& call) {
  const bool is_cause = call.correlation != 0 && can_cause_work(call.kind) && has_times(call.start_ns, call.end_ns);
  if (is_cause) {
    causes_.push_back({.correlation = call.correlation,
                       .ordinal = next_ordinal_,
                       .track = track_number(track_of(call)) & 0x7FFFFFFFu,
                       .is_backward = call.autograd_role == trace::AutogradRole::kBackward ? 1u : 0u,
                       .stack = call.stack,
                       .start_ns = call.start_ns});
  }
  add(track_of(call), call.start_ns, call.end_ns);
}

void ChromeIndex::on(const trace::MemcpyRecord& copy) {
  add(track_of(copy), copy.start_ns, copy.end_ns);
}
void ChromeIndex::on(const trace::MemsetRecord& memset) {
  add(track_of(memset), memset.start_ns, memset.end_ns);
}
void ChromeIndex::on(const trace::KernelRecord& kernel) {
  add(track_of(kernel), kernel.start_ns, kernel.end_ns);
}
void ChromeIndex::on(const trace::RangeRecord& range) {
  add(track_of(range), range.start_ns, range.end_ns);
}
void ChromeIndex::on(const trace::MigrationRecord& migration) {
  add(track_of(migration), migration.start_ns, migration.end_ns);
}

void ChromeIndex::on(const trace::DeviceRecord& device) {
  device_names_[device.device] = device.name;
}
void ChromeIndex::on(const trace::ThreadRecord& thread) {
  thread_names_[thread.thread] = thread.name;
}
void ChromeIndex::on(const trace::StreamRecord& stream) {
  stream_names_[{stream.device, stream.stream}] = {stream.name, stream.is_default != 0};
}
void ChromeIndex::on(const trace::GraphNodeRecord& node) {
  graph_nodes_[node.node] = {node.stack, node.cloned_from};
}

void ChromeIndex::add(const Track& track, std::int64_t start_ns, std::int64_t end_ns) {
  const std::uint32_t ordinal = next_ordinal_++;
  if (!has_times(start_ns, end_ns)) {
    ++untimed_count_;
    return;
  }
  first_ns_ = std::min(first_ns_.value_or(start_ns), start_ns);
  items_.push_back({start_ns, std::max(start_ns, end_ns), track_number(track), ordinal});
}

std::uint32_t ChromeIndex::track_number(const Track& track) {
  return tracks_.try_emplace(track, static_cast<std::uint32_t>(tracks_.size())).first->second;
}

void ChromeIndex::finish(trace::Process process, IdleLanes idle) {
  process_ = std::move(process);
  idle_ = std::move(idle);
  for (const auto& [device, slices] : idle_.of_device) track_number(idle_track(device));
  std::vector<bool> may_nest(tracks_.size());
  for (const auto& [track, number] : tracks_) {
    may_nest[number] = track.kind == TrackKind::kThread || track.kind == TrackKind::kRanges;
  }
  lanes_ = RowLanes(std::move(items_), may_nest);
  items_ = {};
  std::stable_sort(causes_.begin(), causes_.end(),
                   [](const Cause& a, const Cause& b) { return a.correlation < b.correlation; });
}

const Cause* ChromeIndex::cause_of(std::uint32_t correlation) const {
  const auto found =
      std::lower_bound(causes_.begin(), causes_.end(), correlation,
                       [](const Cause& cause, std::uint32_t wanted) { return cause.correlation < wanted; });
  return found == causes_.end() || found->correlation != correlation ? nullptr : &*found;
}

std::uint32_t ChromeIndex::stack_of_node(std::uint64_t node) const {
  for (int i = 0; i < kMaxClones; ++i) {
    const auto found = graph_nodes_.find(node);
    if (found == graph_nodes_.end()) return trace::kNoId;
    if (found->second.stack != trace::kNoId) return found->second.stack;
    node = found->second.cloned_from;
  }
  return trace::kNoId;
}

std::string ChromeIndex::device_name(std::uint32_t device) const {
  const auto found = device_names_.find(device);
  const std::string name = found == device_names_.end() ? "" : process_.string(found->second);
  const std::string number = device == trace::kUnknownId ? "GPU ?" : "GPU " + std::to_string(device);
  return name.empty() ? number : number + ": " + name;
}

std::string ChromeIndex::thread_name(std::uint32_t thread) const {
  const auto found = thread_names_.find(thread);
  return name_or(found == thread_names_.end() ? "" : process_.string(found->second), "thread ", thread);
}

std::string ChromeIndex::stream_name(std::uint32_t device, std::uint32_t stream) const {
  if (stream == trace::kUnknownId) return "stream ?";
  const auto found = stream_names_.find({device, stream});
  if (found == stream_names_.end()) return "stream " + std::to_string(stream);
  const std::string name = name_or(process_.string(found->second.name), "stream ", stream);
  return found->second.is_default ? name + " (default)" : name;
}

}  // namespace turnpike::report
