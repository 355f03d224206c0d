#include "analyze/process_doubts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "analyze/cost_model.h"
#include "analyze/model/metadata_words.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// Of the operations whose call is known; fewer may have wrong times for other reasons.
constexpr std::size_t kManyIsOneIn = 100;

// By how much each operation starts before the call that asked for it, beyond what clocks differ by.
class EarlyStarts {
 public:
  explicit EarlyStarts(const Timeline& timeline) {
    for (const Transfer& transfer : timeline.transfers) add(transfer, timeline);
    for (const Kernel& kernel : timeline.kernels) add(kernel, timeline);
  }

  bool are_many() const { return early_ns_.size() * kManyIsOneIn > count_; }
  std::size_t count() const { return early_ns_.size(); }
  std::size_t of() const { return count_; }

  std::int64_t median_ns() {
    const auto middle = early_ns_.begin() + static_cast<std::ptrdiff_t>(early_ns_.size() / 2);
    std::nth_element(early_ns_.begin(), middle, early_ns_.end());
    return *middle;
  }

 private:
  template <typename Operation>
  void add(const Operation& operation, const Timeline& timeline) {
    if (operation.call == kNone || !operation.has_times()) return;
    const Call& call = timeline.calls[operation.call];
    if (!call.has_times()) return;
    ++count_;
    const std::int64_t early_ns = call.start_ns - operation.start_ns;
    if (early_ns > kClockSlackNs) early_ns_.push_back(early_ns);
  }

  std::size_t count_ = 0;
  std::vector<std::int64_t> early_ns_;
};

}  // namespace

std::vector<std::string> doubts_about(const trace::Process& process, const Timeline& timeline) {
  std::vector<std::string> doubts;
  const std::string_view callers = value_of(process, "calling_processes");
  const bool has_device_work = !timeline.kernels.empty() || !timeline.transfers.empty();
  if (!callers.empty() && has_device_work) {
    doubts.push_back(process.path + " holds the calls of " + std::string(callers) +
                     " processes, whose work on GPUs cannot be told apart: steps, the verdict and savings may be "
                     "wrong. Give the files of the ranks as they were before they were merged.");
  }
  EarlyStarts early(timeline);
  if (early.are_many()) {
    doubts.push_back(process.path + ": " + std::to_string(early.count()) + " of " + std::to_string(early.of()) +
                     " copies and kernels start before the call that asked for them, by " +
                     duration_text(early.median_ns()) +
                     " (median). The clocks of the CPU and the GPU disagree in this file, so the verdict and savings "
                     "may be wrong. Record again.");
  }
  return doubts;
}

}  // namespace turnpike::analyze
