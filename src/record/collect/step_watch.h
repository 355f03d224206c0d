// Finds slow steps while they happen, from what the recorder sees anyway.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/options.h"
#include "trace/format.h"

namespace turnpike::record {

// The steps of a process, cheaply: NVTX ranges whose name ends in the word step or iteration (base/step_name.h), each
// its own length; and until there were three of one name, backward passes of PyTorch, from the first call of one to
// that of the next, as the report finds them (analyze/model/steps.h). Of several names the one with the longest median
// counts. What it cannot see: a program with neither, and with the detail transfers a backward pass in which nothing is
// copied or waited for.
// Collector's thread only.
class StepWatch {
 public:
  explicit StepWatch(const Trigger& trigger) : trigger_(trigger) {}

  // `name` without its number, as `names_a_step` has judged it. Times of ranges and calls in the order of their ends.
  void note_step_range(std::string_view name, const trace::RangeRecord& range);
  void note_call(const trace::CallRecord& call);

  // Why the recording should be kept, if a step since the last look was slow: the slowest.
  std::optional<std::string> take_reason();

 private:
  // The newest steps of one kind.
  struct Steps {
    std::deque<std::int64_t> newest_ns{};
    std::uint64_t count = 0;
    std::int64_t median_ns() const;
    void add(std::int64_t duration_ns);
  };

  // Compares a step with those before it, which it is not among yet.
  void judge(std::string_view what, const Steps& steps, std::int64_t duration_ns);

  Trigger trigger_;
  std::unordered_map<std::string, Steps> by_name_;
  Steps passes_;
  std::int64_t pass_start_ns_ = 0;
  bool is_in_pass_ = false;
  bool has_ranges_ = false;
  std::int64_t slowest_ns_ = 0;
  std::string reason_;
};

}  // namespace turnpike::record
