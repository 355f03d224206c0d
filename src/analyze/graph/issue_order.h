// What was issued so far, while the calls are followed in their order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/graph/draft.h"

namespace turnpike::analyze {

class IssueOrder {
 public:
  using Operations = std::vector<std::uint32_t>;

  // What must be over when a stream is: the operation issued last on it, and those that it waits for since.
  Operations end_of(const StreamKey& stream) const {
    Operations operations;
    if (const auto last = last_of_stream_.find(stream); last != last_of_stream_.end())
      operations.push_back(last->second);
    if (const auto waits = waits_of_stream_.find(stream); waits != waits_of_stream_.end())
      operations.insert(operations.end(), waits->second.begin(), waits->second.end());
    return operations;
  }
  template <typename Visit>
  void for_each_end(Visit visit) const {
    for (const auto& [stream, operation] : last_of_stream_) visit(stream, operation);
    for (const auto& [stream, operations] : waits_of_stream_) {
      for (const std::uint32_t operation : operations) visit(stream, operation);
    }
  }

  // The operations that an event stands for, none when its stream was empty; nullopt when it was not recorded yet.
  std::optional<Operations> of_event(std::uint64_t event) const {
    const auto found = events_.find(event);
    return found == events_.end() ? std::nullopt : std::optional(found->second);
  }

  // In the order of the calls.
  void pass(const Call& call) {
    if (call.kind == trace::CallKind::kEventRecord) return record_event(call);
    if (call.kind == trace::CallKind::kStreamWait) return wait(call);
    recorded_by_thread_.erase(call.thread);
  }
  // Takes an operation whose call pass() has seen. Returns the operations that it waits for, without its predecessor on
  // the stream.
  Operations issue(const Operation& operation, std::uint32_t index, std::uint32_t thread) {
    const StreamKey stream{operation.device, operation.stream};
    Operations waits = taken_from(waits_of_stream_, stream);
    if (const auto found = waits_of_thread_.find(thread);
        found != waits_of_thread_.end() && found->second.stream != stream) {
      waits.push_back(found->second.operation);
      waits_of_thread_.erase(found);
    }
    last_of_stream_[stream] = index;
    last_of_thread_[thread] = {index, stream};
    return waits;
  }

 private:
  struct Issued {
    std::uint32_t operation;
    StreamKey stream;
  };

  template <typename Map>
  static Operations taken_from(Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    if (found == map.end()) return {};
    Operations taken = std::move(found->second);
    map.erase(found);
    return taken;
  }

  void record_event(const Call& call) {
    if (call.object != 0) {
      events_[call.object] = end_of({call.device, call.stream});
    } else if (const auto last = last_of_thread_.find(call.thread); last != last_of_thread_.end()) {
      recorded_by_thread_[call.thread] = last->second;
    }
  }

  void wait(const Call& call) {
    if (const auto awaited = of_event(call.object)) {
      Operations& waits = waits_of_stream_[{call.device, call.stream}];
      waits.insert(waits.end(), awaited->begin(), awaited->end());
    } else if (const auto recorded = recorded_by_thread_.find(call.thread); recorded != recorded_by_thread_.end()) {
      waits_of_thread_[call.thread] = recorded->second;
    }
  }

  std::map<StreamKey, std::uint32_t> last_of_stream_;
  std::map<StreamKey, Operations> waits_of_stream_;  // since the last operation
  std::unordered_map<std::uint64_t, Operations> events_;
  // torch.profiler names neither the event nor its stream. A thread that records an event and at once has a stream wait
  // joins what it issued last to what it issues next on another stream.
  std::unordered_map<std::uint32_t, Issued> last_of_thread_;
  std::unordered_map<std::uint32_t, Issued> recorded_by_thread_;
  std::unordered_map<std::uint32_t, Issued> waits_of_thread_;
};

}  // namespace turnpike::analyze
