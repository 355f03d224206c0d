#include "analyze/process_doubts.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/model/metadata_words.h"
#include "base/statistics.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// Of the operations whose call is known; fewer may have wrong times for other reasons.
constexpr std::size_t kManyIsOneIn = 100;

struct Starts {
  std::size_t count = 0;               // operations whose call is known
  std::vector<std::int64_t> early_ns;  // how long before their call some of them start, beyond what clocks differ by
};

template <typename Operation>
void add_starts(const std::vector<Operation>& operations, const std::vector<Call>& calls, Starts& starts) {
  for (const Operation& operation : operations) {
    if (operation.call == kNone || !operation.has_times() || !calls[operation.call].has_times()) continue;
    ++starts.count;
    const std::int64_t early_ns = calls[operation.call].start_ns - operation.start_ns;
    if (early_ns > kClockSlackNs) starts.early_ns.push_back(early_ns);
  }
}

std::string early_text(const Timeline& timeline) {
  Starts starts;
  add_starts(timeline.transfers, timeline.calls, starts);
  add_starts(timeline.kernels, timeline.calls, starts);
  const std::size_t early_count = starts.early_ns.size();
  if (early_count * kManyIsOneIn <= starts.count) return "";
  return std::to_string(early_count) + " of " + std::to_string(starts.count) +
         " copies and kernels start before the call that asked for them, by " +
         duration_text(median(std::move(starts.early_ns))) +
         " (median). The clocks of the CPU and the GPU disagree in this file, so the verdict and savings may be wrong. "
         "Record again.";
}

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
  if (const std::string text = early_text(timeline); !text.empty()) doubts.push_back(process.path + ": " + text);
  return doubts;
}

}  // namespace turnpike::analyze
