// What was issued so far, while the calls are followed in their order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyze/graph/draft.h"

namespace turnpike::analyze {

class IssueOrder {
 public:
  // The operation issued last on a stream; kNone.
  std::uint32_t last_of(const StreamKey& stream) const {
    const auto found = last_of_stream_.find(stream);
    return found == last_of_stream_.end() ? kNone : found->second;
  }
  const std::map<StreamKey, std::uint32_t>& last_of_streams() const { return last_of_stream_; }

  // The operation that an event stands for, kNone when its stream was empty; nullopt when it was not recorded yet.
  std::optional<std::uint32_t> of_event(std::uint64_t event) const {
    const auto found = events_.find(event);
    return found == events_.end() ? std::nullopt : std::optional(found->second);
  }

  void record_event(const Call& call) { events_[call.object] = last_of({call.device, call.stream}); }
  void issue(const Operation& operation, std::uint32_t index) {
    last_of_stream_[{operation.device, operation.stream}] = index;
  }

 private:
  std::map<StreamKey, std::uint32_t> last_of_stream_;
  std::unordered_map<std::uint64_t, std::uint32_t> events_;
};

}  // namespace turnpike::analyze
