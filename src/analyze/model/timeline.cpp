// Keeps, sorts and joins the records of a process.
#include "analyze/model/timeline.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "analyze/model/direction.h"

namespace turnpike::analyze {
namespace {

static_assert(sizeof(Call) == 96 && sizeof(Transfer) == 56 && sizeof(Kernel) == 40);

// A chain of clones is as long as a graph was cloned before it was instantiated; a longer one is a circle of reused
// addresses.
constexpr int kMaxClones = 64;

// The calls by correlation id: what device records are looked up in.
class CallsByCorrelation {
 public:
  explicit CallsByCorrelation(const std::vector<Call>& calls) {
    entries_.reserve(calls.size());
    for (std::uint32_t index = 0; index < calls.size(); ++index) {
      entries_.emplace_back(calls[index].correlation, index);
    }
    if (!std::is_sorted(entries_.begin(), entries_.end())) std::sort(entries_.begin(), entries_.end());
  }

  // Records come nearly in the order of their calls: the next one is mostly near the last one.
  std::uint32_t find(std::uint32_t correlation) {
    constexpr std::ptrdiff_t kNear = 8;
    auto found = entries_.begin() + last_;
    const auto near = entries_.begin() + std::min(last_ + kNear, std::ssize(entries_));
    if (found != entries_.end() && found->first <= correlation) {
      while (found != near && found->first < correlation) ++found;
    } else {
      found = near;
    }
    if (found == near) {
      found = std::lower_bound(entries_.begin(), entries_.end(), std::pair{correlation, std::uint32_t{0}});
    }
    last_ = found - entries_.begin();
    return found != entries_.end() && found->first == correlation ? found->second : kNone;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries_;
  std::ptrdiff_t last_ = 0;  // the first entry that is not before what was looked for last
};

// Records that start together keep one order, whatever the order of the source.
template <typename Record>
void sort_by_start(std::vector<Record>& records) {
  const auto earlier = [](const Record& a, const Record& b) {
    return std::tie(a.start_ns, a.end_ns, a.correlation) < std::tie(b.start_ns, b.end_ns, b.correlation);
  };
  if (!std::is_sorted(records.begin(), records.end(), earlier)) std::sort(records.begin(), records.end(), earlier);
}

// Sizes that are not in the call's arguments (2D and batched copies) may be 0: nothing is asked of those.
bool must_copy(const trace::CallRecord& record) {
  return record.kind == trace::CallKind::kCopy && record.result == 0 && record.is_captured == 0 && record.bytes != 0 &&
         record.bytes != trace::kUnknownSize;
}

bool must_run(const trace::CallRecord& record) {
  const bool is_launch = record.kind == trace::CallKind::kLaunch || record.kind == trace::CallKind::kGraphLaunch;
  return is_launch && record.result == 0 && record.is_captured == 0;
}

std::vector<std::uint32_t> find_lost_launches(const Timeline& timeline, const std::vector<bool>& has_record) {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    if (call.must_run && call.has_times() && !has_record[index]) lost.push_back(index);
  }
  const auto without_call = std::count_if(timeline.kernels.begin(), timeline.kernels.end(),
                                          [](const Kernel& kernel) { return kernel.call == kNone; });
  if (std::ssize(lost) <= without_call) lost.clear();
  return lost;
}

void join_to_calls(Timeline& timeline) {
  CallsByCorrelation calls(timeline.calls);
  std::vector<bool> has_record(timeline.calls.size());
  for (Transfer& transfer : timeline.transfers) {
    if (transfer.is_migration) continue;
    transfer.call = calls.find(transfer.correlation);
    if (transfer.call == kNone) {
      ++timeline.unmatched_count;
    } else {
      has_record[transfer.call] = true;
    }
  }
  for (std::size_t index = 0; index < timeline.calls.size(); ++index) {
    if (timeline.calls[index].must_copy && !has_record[index]) ++timeline.missing_count;
  }
  for (Kernel& kernel : timeline.kernels) {
    kernel.call = calls.find(kernel.correlation);
    if (kernel.call == kNone) {
      ++timeline.unmatched_count;
    } else {
      has_record[kernel.call] = true;
    }
  }
  timeline.lost_launches = find_lost_launches(timeline, has_record);
}

template <typename Record>
void make_room_in(std::vector<Record>& records, double share_read) {
  constexpr double kMargin = 1.125;
  // A file may say that it is of any size.
  constexpr double kMostGrowth = 4;
  const auto held = static_cast<double>(records.size());
  const double expected = std::min(kMargin * held / share_read, kMostGrowth * held);
  if (expected <= 2.0 * static_cast<double>(records.capacity())) return;
  try {
    records.reserve(static_cast<std::size_t>(expected));
  } catch (const std::bad_alloc&) {  // it grows by itself
  } catch (const std::length_error&) {
  }
}

template <typename Record>
void widen(std::optional<Interval>& span, const Record& record) {
  if (!has_times(record.start_ns, record.end_ns)) return;
  if (!span) span = Interval{record.start_ns, record.end_ns};
  span->start_ns = std::min(span->start_ns, record.start_ns);
  span->end_ns = std::max(span->end_ns, record.end_ns);
}

}  // namespace

std::uint32_t Timeline::captured_stack(std::uint64_t node) const {
  for (int clones = 0; clones < kMaxClones; ++clones) {
    const auto found = graph_nodes.find(node);
    if (found == graph_nodes.end()) return trace::kNoId;
    if (found->second.stack != trace::kNoId) return found->second.stack;
    node = found->second.cloned_from;
  }
  return trace::kNoId;
}

void TimelineLoader::learn_device(std::uint32_t context, std::uint32_t device) {
  if (context != trace::kUnknownId && device != trace::kUnknownId) device_of_context_.try_emplace(context, device);
}

void TimelineLoader::on(const trace::CallRecord& record) {
  learn_device(record.context, record.device);
  widen(timeline_.span, record);
  timeline_.calls.push_back({.start_ns = record.start_ns,
                             .end_ns = record.end_ns,
                             .autograd_sequence = record.autograd_sequence,
                             .thread = record.thread,
                             .correlation = record.correlation,
                             .stack = record.stack,
                             .name = record.name,
                             .context = record.context,
                             .device = record.device,
                             .stream = record.stream,
                             .result = record.result,
                             .bytes = record.bytes,
                             .dst = record.dst,
                             .src = record.src,
                             .object = record.object,
                             .kind = record.kind,
                             .autograd_role = record.autograd_role,
                             .must_copy = must_copy(record),
                             .must_run = must_run(record)});
}

void TimelineLoader::on(const trace::MemcpyRecord& record) {
  learn_device(record.context, record.device);
  const auto direction = direction_of(record);
  if (!direction) {
    ++timeline_.unclassified_count;
    return;
  }
  widen(timeline_.span, record);
  timeline_.transfers.push_back({.start_ns = record.start_ns,
                                 .end_ns = record.end_ns,
                                 .bytes = record.bytes,
                                 .graph_node = record.graph_node,
                                 .correlation = record.correlation,
                                 .call = kNone,
                                 .device = record.device,
                                 .stream = record.stream,
                                 .count = std::max(record.copy_count, 1u),
                                 .direction = *direction,
                                 .src_kind = record.src_kind,
                                 .dst_kind = record.dst_kind,
                                 .is_migration = false,
                                 .is_async = record.is_async != 0});
}

void TimelineLoader::on(const trace::MemsetRecord& record) {
  learn_device(record.context, record.device);
  widen(timeline_.span, record);
  timeline_.transfers.push_back({.start_ns = record.start_ns,
                                 .end_ns = record.end_ns,
                                 .bytes = record.bytes,
                                 .graph_node = record.graph_node,
                                 .correlation = record.correlation,
                                 .call = kNone,
                                 .device = record.device,
                                 .stream = record.stream,
                                 .count = 1,
                                 .direction = Direction::kMemset,
                                 .src_kind = trace::MemoryKind::kUnknown,
                                 .dst_kind = record.memory_kind,
                                 .is_migration = false,
                                 .is_async = false});
}

void TimelineLoader::on(const trace::KernelRecord& record) {
  learn_device(record.context, record.device);
  widen(timeline_.span, record);
  timeline_.kernels.push_back({.start_ns = record.start_ns,
                               .end_ns = record.end_ns,
                               .device = record.device,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .call = kNone,
                               .name = record.name,
                               .is_in_graph = record.graph_node != 0});
}

void TimelineLoader::on(const trace::RangeRecord& record) {
  timeline_.other_names.insert(record.domain);
  if (record.end_ns > record.start_ns) {
    timeline_.ranges.push_back({record.start_ns, record.end_ns, record.name, record.thread, record.domain});
  } else {
    timeline_.other_names.insert(record.name);
  }
}

void TimelineLoader::on(const trace::DeviceRecord& record) {
  timeline_.devices.push_back(record);
}

void TimelineLoader::on(const trace::ThreadRecord& record) {
  timeline_.thread_names[record.thread] = record.name;
}

void TimelineLoader::on(const trace::StreamRecord& record) {
  learn_device(record.context, record.device);
  timeline_.other_names.insert(record.name);
  if (record.is_default != 0) timeline_.default_streams.insert({record.device, record.stream});
}

void TimelineLoader::on(const trace::MigrationRecord& record) {
  const auto direction = direction_of(record.kind);
  if (!direction) return;
  widen(timeline_.span, record);
  timeline_.transfers.push_back({.start_ns = record.start_ns,
                                 .end_ns = record.end_ns,
                                 .bytes = record.bytes,
                                 .graph_node = 0,
                                 .correlation = 0,
                                 .call = kNone,
                                 .device = record.device,
                                 .stream = trace::kUnknownId,
                                 .count = 1,
                                 .direction = *direction,
                                 .src_kind = trace::MemoryKind::kManaged,
                                 .dst_kind = trace::MemoryKind::kManaged,
                                 .is_migration = true,
                                 .is_async = false});
}

void TimelineLoader::on(const trace::GraphNodeRecord& record) {
  timeline_.graph_nodes[record.node] = {record.stack, record.cloned_from};
}

void TimelineLoader::on(const trace::ContentRecord& record) {
  timeline_.contents.push_back(record);
}

void TimelineLoader::on(const trace::MemoryRecord& record) {
  timeline_.memory.push_back(record);
}

void TimelineLoader::on(const trace::SampleRecord& record) {
  timeline_.samples.push_back(record);
}

void TimelineLoader::make_room(double share_read) {
  make_room_in(timeline_.calls, share_read);
  make_room_in(timeline_.transfers, share_read);
  make_room_in(timeline_.kernels, share_read);
}

Timeline TimelineLoader::take() {
  for (Call& call : timeline_.calls) {
    if (call.device != trace::kUnknownId) continue;
    const auto found = device_of_context_.find(call.context);
    if (found != device_of_context_.end()) call.device = found->second;
  }
  sort_by_start(timeline_.calls);
  sort_by_start(timeline_.transfers);
  sort_by_start(timeline_.kernels);
  std::sort(timeline_.ranges.begin(), timeline_.ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
  });
  std::sort(timeline_.contents.begin(), timeline_.contents.end(),
            [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
  std::sort(timeline_.memory.begin(), timeline_.memory.end(),
            [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::sort(timeline_.samples.begin(), timeline_.samples.end(),
            [](const auto& a, const auto& b) { return std::tie(a.thread, a.time_ns) < std::tie(b.thread, b.time_ns); });
  join_to_calls(timeline_);
  device_of_context_.clear();
  return std::exchange(timeline_, {});
}

}  // namespace turnpike::analyze
