// The changes, each as edits of the graph.
#include "analyze/whatif/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/graph/edits.h"
#include "analyze/graph/neighbours.h"
#include "analyze/model/batch_gaps.h"
#include "analyze/model/blocking.h"
#include "base/file_line.h"
#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// Of one place: one may be the start of an epoch.
constexpr std::size_t kFewLateBatches = 2;

// A graph while it is changed, with what the changes have in common.
class Changer {
 public:
  Changer(const ProcessModel& model, Graph& graph, std::uint32_t ahead) : model_(model), graph_(graph), ahead_(ahead) {}

  Applied take() { return {std::move(applied_), is_known_}; }

  void pin(std::uint32_t call) {
    for (const std::uint32_t operation : model_.operations_of(call)) {
      if (!is_over_link(operation)) continue;
      run_at_link_speed(operation, bytes_of(operation));
      let_host_go_on(call);
      applied_.push_back(call);
    }
  }

  // The host waits until the bytes have left the pageable memory, though not for the GPU.
  void stage_in_threads(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    std::uint64_t bytes = 0;
    for (const std::uint32_t operation : model_.operations_of(call)) {
      if (!is_over_link(operation)) continue;
      run_at_link_speed(operation, bytes_of(operation));
      bytes += bytes_of(operation);
    }
    const std::int64_t held_ns = model_.call(call).duration_ns();
    const std::int64_t staged_ns = std::llround(static_cast<double>(bytes) / kStagedInThreadsGbps);
    if (has_waits(graph_, call)) remove_waits(graph_, call, std::min(held_ns, staged_ns + kStagedTensorNs));
    wait_no_more_behind(call);
    applied_.push_back(call);
  }

  void make_non_blocking(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    let_host_go_on(call);
    applied_.push_back(call);
  }

  // A synchronisation, or a copy to the host. What the CPU did before it is the program's own work.
  void remove_sync(std::uint32_t call) {
    const CallKind kind = model_.call(call).kind;
    if (kind == CallKind::kSynchronize) {
      remove_call(graph_, call, false);
      applied_.push_back(call);
    } else if (is_of(call, Direction::kDeviceToHost)) {
      drop_copy(call);
      applied_.push_back(call);
    }
  }

  void leave_out_device_copy(std::uint32_t call) {
    if (!is_of(call, Direction::kDeviceToDevice)) return;
    drop_copy(call);
    applied_.push_back(call);
  }

  void leave_out_cpu_work(std::uint32_t call) {
    if (pause_ns(graph_, call) <= kQuietNs) return;
    end_pause(graph_, call, 0);
    applied_.push_back(call);
  }

  void hoist_upload(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    drop_copy(call);
    applied_.push_back(call);
  }

  void hoist_work(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    drop_copy(call);
    set_gap(graph_, call, 0);
    applied_.push_back(call);
  }

  // The wait is for what it waited for one step earlier.
  void defer_sync(const Selection& calls) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> earlier;  // by place and number in the step
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts;
    for (const std::uint32_t call : calls) {
      const std::uint32_t waiting = waiting_call_of(call);
      if (waiting == kNone) continue;
      const std::uint32_t place = model_.call(call).stack;
      const std::uint32_t number = counts[{model_.step_of(call), place}]++;
      std::uint32_t awaited = earlier.contains({place, number}) ? earlier[{place, number}] : Graph::kOriginPoint;
      if (waiting != call) free_copy_call(call);
      for (Edge& edge : graph_.edges_to(graph_.call_end(waiting))) {
        if (edge.kind == EdgeKind::kWait && edge.lag_ns != kRemoved) std::swap(edge.from, awaited);
      }
      earlier[{place, number}] = awaited;
      applied_.push_back(call);
    }
  }

  // Each device has copies of its own, also where one line serves several in turn.
  void merge(const Selection& calls) {
    std::map<std::uint32_t, Selection> groups;  // by device
    for (const std::uint32_t call : calls) {
      if (!is_of(call, Direction::kHostToDevice) && !is_of(call, Direction::kDeviceToHost)) continue;
      Selection& group = groups[graph_.operations[model_.operations_of(call).front()].device];
      if (!group.empty() && !belong_together(group.back(), call)) merge_group(std::exchange(group, {}));
      group.push_back(call);
    }
    for (const auto& [device, group] : groups) merge_group(group);
  }

  // One step ahead, on a stream of their own.
  void prefetch(const Selection& calls) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts;   // by step and place
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> earlier;  // by place and number in the step
    std::map<std::uint32_t, std::uint32_t> last_of_device;
    for (const std::uint32_t call : calls) {
      if (!is_of(call, Direction::kHostToDevice)) continue;
      const std::uint32_t place = model_.call(call).stack;
      const std::uint32_t number = counts[{model_.step_of(call), place}]++;
      const auto [before, is_first] = earlier.try_emplace({place, number}, call);
      for (const std::uint32_t operation : model_.operations_of(call)) {
        if (!is_over_link(operation)) continue;
        const bool is_pageable =
            model_.transfer_of(graph_.operations[operation])->src_kind == trace::MemoryKind::kPageable;
        if (is_pageable) run_at_link_speed(operation, bytes_of(operation));
        move_aside(operation, last_of_device);
        if (!is_first) launch_from(graph_, operation, before->second);
      }
      let_host_go_on(call);
      before->second = call;
      applied_.push_back(call);
    }
  }

  // While some uploads of a step are used, the next ones are on their way, into the memory of those used up. The first
  // of a step has nothing to hide behind.
  void prefetch_next(const Selection& calls) {
    struct Upload {
      std::uint32_t call;
      std::uint32_t
          before;  // the operation that its stream carried out before it: the end of what the last one was for
    };
    std::map<std::uint32_t, std::vector<Upload>> of_step;  // by device
    std::map<std::uint32_t, std::uint32_t> last_of_device;
    std::uint32_t step = kNone;
    for (const std::uint32_t call : calls) {
      if (!is_of(call, Direction::kHostToDevice)) continue;
      if (std::exchange(step, model_.step_of(call)) != model_.step_of(call)) of_step.clear();
      for (const std::uint32_t operation : model_.operations_of(call)) {
        if (!is_over_link(operation)) continue;
        std::vector<Upload>& earlier = of_step[graph_.operations[operation].device];
        const Upload own{call, graph_.operations[operation].before};
        if (model_.transfer_of(graph_.operations[operation])->src_kind == trace::MemoryKind::kPageable) {
          run_at_link_speed(operation, bytes_of(operation));
        }
        move_aside(operation, last_of_device);
        if (!earlier.empty()) {
          const bool must_reuse = earlier.size() >= ahead_;
          const Upload& opener = must_reuse ? earlier[earlier.size() - ahead_] : earlier.front();
          launch_from(graph_, operation, opener.call);
          if (must_reuse) wait_for(operation, opener.before);
        }
        earlier.push_back(own);
      }
      let_host_go_on(call);
      applied_.push_back(call);
    }
  }

  // Copies between GPUs wait for nothing on the streams that compute; copies to the host wait for what they read.
  void use_side_streams(const Selection& calls) {
    std::vector<std::uint32_t> ends;
    for (const std::uint32_t call : calls) {
      for (const std::uint32_t operation : model_.operations_of(call)) {
        const Transfer* transfer = model_.transfer_of(graph_.operations[operation]);
        if (transfer == nullptr) continue;
        if (transfer->direction == Direction::kPeerToPeer) {
          ends.push_back(graph_.operation_end(operation));
          detach_from_stream(graph_, operation);
        } else if (transfer->direction == Direction::kDeviceToHost) {
          move_behind_producer(operation);
        } else {
          continue;
        }
        applied_.push_back(call);
      }
    }
    remove_events_from(graph_, ends);
  }

  void reach_link_speed(std::uint32_t call) {
    for (const std::uint32_t operation : model_.operations_of(call)) {
      if (!is_over_link(operation)) continue;
      run_at_link_speed(operation, bytes_of(operation));
      applied_.push_back(call);
    }
  }

  // As if the link had all lanes and the generation of the card: the bytes cross faster by so much.
  void widen_link(std::uint32_t call) {
    for (const std::uint32_t operation : model_.operations_of(call)) {
      if (!is_over_link(operation)) continue;
      const Transfer& transfer = *model_.transfer_of(graph_.operations[operation]);
      const Link* link = model_.link(transfer.device);
      if (link == nullptr || link->share_of_card >= 1) continue;
      const std::int64_t measured_ns = transfer.duration_ns();
      const auto link_ns = model_.link_time_ns(transfer.device, transfer.direction, bytes_of(operation));
      // What a copy takes besides its bytes stays.
      const auto bytes_ns = static_cast<double>(std::min(measured_ns, link_ns.value_or(measured_ns)));
      set_duration(graph_, operation, measured_ns - static_cast<std::int64_t>(bytes_ns * (1 - link->share_of_card)));
      applied_.push_back(call);
    }
  }

  // Where an upload waited for its batch for long now and then, its shorter pauses are such waits, too.
  void load_faster(const Selection& calls) {
    std::map<std::uint32_t, std::size_t> late;  // by place
    for (const std::uint32_t call : calls) {
      if (pause_ns(graph_, call) > kQuietNs) ++late[model_.call(call).stack];
    }
    for (const std::uint32_t call : calls) {
      const std::int64_t gap = pause_ns(graph_, call);
      const std::uint32_t place = model_.call(call).stack;
      const bool is_at_late_place = place != 0 && late.contains(place) && late[place] >= kFewLateBatches;
      const bool is_short_wait = gap > kReadyBatchNs && is_at_late_place && is_of(call, Direction::kHostToDevice);
      if (gap <= kQuietNs && !is_short_wait) continue;
      end_pause(graph_, call, std::min(gap, kReadyBatchNs));
      applied_.push_back(call);
    }
  }

  // The first launch of a step stands for all that can be captured.
  void launch_as_graph(const Selection& calls) {
    std::uint32_t step = kNone;
    for (const std::uint32_t call : calls) {
      if (!can_be_captured(call)) continue;
      const std::uint32_t own = model_.step_of(call);
      if (std::exchange(step, own) != own) {
        remove_waits(graph_, call, kGraphLaunchNs);
      } else {
        remove_call(graph_, call, true);
      }
      for (const std::uint32_t operation : model_.operations_of(call)) close_up(graph_, operation, kGraphNodeLagNs);
      applied_.push_back(call);
    }
  }

  // Of the gap before the call only what such a copy takes goes: the rest may be the program's own.
  void skip_host_copy(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    std::uint64_t bytes = 0;
    for (const std::uint32_t operation : model_.operations_of(call)) bytes += bytes_of(operation);
    const auto host_copy_ns = static_cast<std::int64_t>(static_cast<double>(bytes) / kHostCopyGbps);
    const std::int64_t gap = gap_ns(graph_, call);
    set_gap(graph_, call, std::max(gap - host_copy_ns, std::min(gap, usual_gap_ns())));
    applied_.push_back(call);
  }

  void convert_on_device(std::uint32_t call) {
    if (!is_of(call, Direction::kHostToDevice)) return;
    for (const std::uint32_t operation : model_.operations_of(call)) {
      if (!is_over_link(operation)) continue;
      shorten(operation, static_cast<std::int64_t>(kBytesPerStoredByte));
      set_gap(graph_, call, std::min(gap_ns(graph_, call), usual_gap_ns()));
      applied_.push_back(call);
    }
  }

  // A copy down and the next one up on the same thread, with what the host did between them.
  void keep_on_device(const Selection& calls) {
    std::set<std::uint32_t> threads;  // that have brought something down
    for (const std::uint32_t call : calls) {
      const std::uint32_t thread = model_.call(call).thread;
      if (is_of(call, Direction::kDeviceToHost)) {
        drop_copy(call);
        threads.insert(thread);
      } else if (threads.contains(thread) && is_of(call, Direction::kHostToDevice)) {
        set_gap(graph_, call, std::min(gap_ns(graph_, call), usual_gap_ns()));
        drop_copy(call);
        threads.erase(thread);
        applied_.push_back(call);
      }
    }
  }

  void remove_allocation(std::uint32_t call) {
    const CallKind kind = model_.call(call).kind;
    if (kind != CallKind::kDeviceAlloc && kind != CallKind::kDeviceFree && kind != CallKind::kHostAlloc &&
        kind != CallKind::kHostFree && kind != CallKind::kHostRegister && kind != CallKind::kHostUnregister) {
      return;
    }
    remove_call(graph_, call, false);
    applied_.push_back(call);
  }

 private:
  bool is_of(std::uint32_t call, Direction direction) const {
    const auto& operations = model_.operations_of(call);
    return std::any_of(operations.begin(), operations.end(), [&](std::uint32_t operation) {
      const Transfer* transfer = model_.transfer_of(graph_.operations[operation]);
      return transfer != nullptr && transfer->direction == direction && transfer->graph_node == 0 &&
             !is_removed(graph_, operation);
    });
  }

  // The copy of one part in `parts` of the bytes. Staging the first bytes of pageable memory takes as long as before:
  // the device waits for it, so that what it takes itself shrinks by more than the bytes do.
  void shorten(std::uint32_t operation, std::int64_t parts) {
    const std::int64_t measured_ns = graph_.operations[operation].end_ns - graph_.operations[operation].start_ns;
    const bool is_staged = model_.transfer_of(graph_.operations[operation])->src_kind == trace::MemoryKind::kPageable &&
                           bytes_of(operation) > kStagedAboveBytes;
    const std::int64_t staging_ns = is_staged ? graph_.typical.staged_launch : 0;
    const std::int64_t whole_ns = (measured_ns + staging_ns) / parts;
    set_duration(graph_, operation, std::max(whole_ns - staging_ns, measured_ns / (2 * parts)));
  }

  bool can_be_captured(std::uint32_t call) const {
    switch (model_.call(call).kind) {
      case CallKind::kLaunch:
      case CallKind::kMemset:
      case CallKind::kEventRecord:
      case CallKind::kStreamWait:
        return true;
      case CallKind::kCopy:
        return is_of(call, Direction::kDeviceToDevice);
      default:
        return false;
    }
  }

  bool is_over_link(std::uint32_t operation) const {
    const Transfer* transfer = model_.transfer_of(graph_.operations[operation]);
    return transfer != nullptr && !is_removed(graph_, operation) &&
           (transfer->direction == Direction::kHostToDevice || transfer->direction == Direction::kDeviceToHost);
  }

  std::uint64_t bytes_of(std::uint32_t operation) const {
    const Transfer* transfer = model_.transfer_of(graph_.operations[operation]);
    return transfer == nullptr ? 0 : transfer->bytes;
  }

  // Small copies take longer than the link's rate says, and pinned ones are no slower than they were.
  void run_at_link_speed(std::uint32_t operation, std::uint64_t bytes) {
    const Transfer& transfer = *model_.transfer_of(graph_.operations[operation]);
    const auto link_ns = model_.link_time_ns(transfer.device, transfer.direction, bytes);
    if (!link_ns) {
      is_known_ = false;
      return;
    }
    set_duration(graph_, operation, bytes == transfer.bytes ? std::min(*link_ns, transfer.duration_ns()) : *link_ns);
  }

  // The call of a copy returns when it is queued, and nothing waits behind it.
  void let_host_go_on(std::uint32_t call) {
    if (has_waits(graph_, call)) free_copy_call(call);
    wait_no_more_behind(call);
  }

  void wait_no_more_behind(std::uint32_t call) {
    const std::uint32_t synchronisation = model_.synchronisation_of(call);
    if (synchronisation != kNone) remove_call(graph_, synchronisation, true);
  }

  void free_copy_call(std::uint32_t call) {
    remove_waits(graph_, call, std::min(model_.call(call).duration_ns(), graph_.typical.launch_call));
  }

  void drop_copy(std::uint32_t call) {
    for (const std::uint32_t operation : model_.operations_of(call)) remove_operation(graph_, operation);
    remove_call(graph_, call, false);
    const std::uint32_t synchronisation = model_.synchronisation_of(call);
    if (synchronisation != kNone) remove_call(graph_, synchronisation, true);
  }

  // The call that waits for a copy down: its own, or the synchronisation behind it; the call itself when it is one.
  std::uint32_t waiting_call_of(std::uint32_t call) const {
    if (model_.call(call).kind == CallKind::kSynchronize) return call;
    if (!is_of(call, Direction::kDeviceToHost)) return kNone;
    const std::uint32_t synchronisation = model_.synchronisation_of(call);
    if (synchronisation != kNone) return synchronisation;
    return has_waits(graph_, call) ? call : kNone;
  }

  bool belong_together(std::uint32_t a, std::uint32_t b) const {
    if (model_.step_of(a) == model_.step_of(b) && model_.call(a).stack == model_.call(b).stack) return true;
    return follows_directly(model_, a, b) &&
           (are_small_copies(a, b, Direction::kHostToDevice) || are_small_copies(a, b, Direction::kDeviceToHost));
  }

  bool are_small_copies(std::uint32_t a, std::uint32_t b, Direction direction) const {
    return is_small_copy(model_, a, direction) && is_small_copy(model_, b, direction);
  }

  void merge_group(const Selection& group) {
    if (group.size() < 2) return;
    std::uint64_t bytes = 0;
    for (const std::uint32_t call : group) {
      for (const std::uint32_t operation : model_.operations_of(call)) bytes += bytes_of(operation);
    }
    const std::uint32_t first = group.front();
    const auto& operations = model_.operations_of(first);
    const auto found = std::find_if(operations.begin(), operations.end(),
                                    [this](std::uint32_t operation) { return is_over_link(operation); });
    if (found == operations.end()) return;
    const std::uint32_t carrier = *found;
    const auto host_copy_ns = static_cast<std::int64_t>(static_cast<double>(bytes) / kHostCopyGbps);
    const bool is_staged = model_.transfer_of(graph_.operations[carrier])->src_kind == trace::MemoryKind::kPageable;
    if (is_staged) {
      set_duration(graph_, carrier, host_copy_ns);
    } else {
      run_at_link_speed(carrier, bytes);
    }
    for (auto call = group.begin() + 1; call != group.end(); ++call) {
      drop_copy(*call);
      const std::int64_t gap = gap_ns(graph_, *call);
      set_gap(graph_, *call, std::max<std::int64_t>(0, gap - kOperatorNs));
    }
    const std::int64_t views_ns = kViewNs * static_cast<std::int64_t>(group.size());
    set_gap(graph_, first, gap_ns(graph_, first) + host_copy_ns + views_ns);
    applied_.insert(applied_.end(), group.begin(), group.end());
  }

  // What the stream went on with after the copy waits for it still.
  void move_aside(std::uint32_t operation, std::map<std::uint32_t, std::uint32_t>& last_of_device) {
    const std::uint32_t consumer = consumer_of(operation);
    detach_from_stream(graph_, operation);
    const std::uint32_t start = graph_.operation_start(operation);
    const auto [last, is_first] = last_of_device.try_emplace(graph_.operations[operation].device, operation);
    if (!is_first) {
      graph_.edges.push_back({graph_.operation_end(std::exchange(last->second, operation)), start,
                              graph_.typical.stream, EdgeKind::kEdit});
    }
    if (consumer == kNone) return;
    graph_.edges.push_back(
        {graph_.operation_end(operation), graph_.operation_start(consumer), graph_.typical.event, EdgeKind::kEdit});
  }

  void move_behind_producer(std::uint32_t operation) {
    const std::uint32_t producer = graph_.operations[operation].before;
    detach_from_stream(graph_, operation);
    wait_for(operation, producer);
  }

  // `awaited`: kNone is waited for by nothing.
  void wait_for(std::uint32_t operation, std::uint32_t awaited) {
    if (awaited == kNone) return;
    graph_.edges.push_back(
        {graph_.operation_end(awaited), graph_.operation_start(operation), graph_.typical.event, EdgeKind::kEdit});
  }

  std::uint32_t consumer_of(std::uint32_t operation) const {
    std::uint32_t next = graph_.operations[operation].after;
    while (next != kNone && graph_.operations[next].kernel == kNone) next = graph_.operations[next].after;
    return next;
  }

  std::int64_t usual_gap_ns() {
    if (usual_gap_ns_) return *usual_gap_ns_;
    std::vector<std::int64_t> gaps;
    for (std::uint32_t call = 0; call < graph_.calls.size(); ++call) gaps.push_back(gap_ns(model_.graph(), call));
    usual_gap_ns_ = median(std::move(gaps)).value_or(0);
    return *usual_gap_ns_;
  }

  const ProcessModel& model_;
  Graph& graph_;
  std::uint32_t ahead_;
  Selection applied_;
  bool is_known_ = true;
  std::optional<std::int64_t> usual_gap_ns_;
};

template <void (Changer::*change)(std::uint32_t)>
void each(Changer& changer, const Selection& calls) {
  for (const std::uint32_t call : calls) (changer.*change)(call);
}

template <void (Changer::*change)(const Selection&)>
void together(Changer& changer, const Selection& calls) {
  (changer.*change)(calls);
}

struct Entry {
  Change change;
  const char* name;
  const char* meaning;
  void (*make)(Changer&, const Selection&);
};

// In the order of Change.
constexpr std::array kTable = {
    Entry{Change::kPin, "pin", "uploads and downloads use pinned memory and non_blocking=True", each<&Changer::pin>},
    Entry{Change::kNonBlocking, "non_blocking", "uploads stay as they are, but the CPU does not wait for them",
          each<&Changer::make_non_blocking>},
    Entry{Change::kRemoveSync, "remove_sync", "nothing is read back: no copy to the CPU and no wait for it",
          each<&Changer::remove_sync>},
    Entry{Change::kDeferSync, "defer_sync", "the result is read one step later", together<&Changer::defer_sync>},
    Entry{Change::kHoistUpload, "hoist_upload", "the upload happens once, before the loop",
          each<&Changer::hoist_upload>},
    Entry{Change::kMergeCopies, "merge_copies", "successive copies of a step become one", together<&Changer::merge>},
    Entry{Change::kPrefetch, "prefetch", "the upload runs on a side stream, one step ahead",
          together<&Changer::prefetch>},
    Entry{Change::kPrefetchNext, "prefetch_next", "the upload runs on a side stream, while the one before is used",
          together<&Changer::prefetch_next>},
    Entry{Change::kSideStreams, "side_streams", "the copy between GPUs runs on side streams of both GPUs",
          together<&Changer::use_side_streams>},
    Entry{Change::kFullLinkSpeed, "full_link_speed", "the copy reaches the rate of the link",
          each<&Changer::reach_link_speed>},
    Entry{Change::kFasterLoader, "faster_loader", "the next batch is ready when the loop asks for it",
          together<&Changer::load_faster>},
    Entry{Change::kGraphLaunch, "graph_launch", "all launches of a step become one (a CUDA graph)",
          together<&Changer::launch_as_graph>},
    Entry{Change::kSkipHostCopy, "skip_host_copy", "the host does not gather or convert the data before the upload",
          each<&Changer::skip_host_copy>},
    Entry{Change::kConvertOnDevice, "convert_on_device", "a quarter of the bytes is copied, and converted on the GPU",
          each<&Changer::convert_on_device>},
    Entry{Change::kKeepOnDevice, "keep_on_device",
          "the work stays on the GPU: no copy down, work on the CPU and copy up", together<&Changer::keep_on_device>},
    Entry{Change::kRemoveAllocation, "remove_allocation", "nothing is allocated or freed",
          each<&Changer::remove_allocation>},
    Entry{Change::kFullLinkWidth, "full_link_width", "the link has the lanes and the PCIe generation of the card",
          each<&Changer::widen_link>},
    Entry{Change::kHoistWork, "hoist_work",
          "the upload happens once, before the loop, and so does the CPU's work right before it",
          each<&Changer::hoist_work>},
    Entry{Change::kStageInThreads, "stage_in_threads",
          "threads stage the upload of pageable memory, as tp.to does, and the CPU waits for them alone",
          each<&Changer::stage_in_threads>},
    Entry{Change::kNoCpuWork, "no_cpu_work",
          "the CPU does no work of its own before the call, where that took over 2 ms",
          each<&Changer::leave_out_cpu_work>},
    Entry{Change::kNoDeviceCopy, "no_device_copy", "the copy inside the GPU is not made",
          each<&Changer::leave_out_device_copy>},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].change) != i) return false;
  }
  return true;
}
static_assert(is_in_order() && static_cast<std::size_t>(Change::kNoDeviceCopy) + 1 == kTable.size());

const Entry& entry_of(Change change) {
  return kTable[static_cast<std::size_t>(change)];
}

bool is_at(const Place& place, std::string_view text, const std::optional<FileLine>& site) {
  if (place.site == text) return true;
  return site && place.line == site->line && place.file && place.file->ends_with(site->file);
}

}  // namespace

const char* name_of(Change change) {
  return entry_of(change).name;
}

const char* meaning_of(Change change) {
  return entry_of(change).meaning;
}

std::optional<Change> change_named(std::string_view name) {
  const auto* const found =
      std::find_if(kTable.begin(), kTable.end(), [=](const Entry& entry) { return entry.name == name; });
  return found == kTable.end() ? std::nullopt : std::optional(found->change);
}

std::span<const Change> all_changes() {
  static const auto kChanges = [] {
    std::array<Change, kTable.size()> changes{};
    std::transform(kTable.begin(), kTable.end(), changes.begin(), [](const Entry& entry) { return entry.change; });
    return changes;
  }();
  return kChanges;
}

Selection calls_at(const ProcessModel& model, std::string_view site) {
  const auto parsed = parse_file_line(site);
  Selection calls;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (site.empty() || is_at(model.facts_of_call(call).place, site, parsed)) calls.push_back(call);
  }
  return calls;
}

Applied apply(const ProcessModel& model, Graph& graph, Change change, const Selection& calls, std::uint32_t ahead) {
  Changer changer(model, graph, ahead);
  entry_of(change).make(changer, calls);
  return changer.take();
}

Pauses pauses_for(const ProcessModel& model, std::span<const NamedChange> changes) {
  const std::vector<bool>& is_pause = model.graph().is_pause;
  std::size_t count = 0;
  std::size_t in_pauses = 0;
  for (const NamedChange& change : changes) {
    for (const std::uint32_t call : change.calls) {
      const std::uint32_t step = model.step_of(call);
      ++count;
      if (step < is_pause.size() && is_pause[step]) ++in_pauses;
    }
  }
  return 2 * in_pauses > count ? Pauses::kCounted : Pauses::kLeftOut;
}

}  // namespace turnpike::analyze
