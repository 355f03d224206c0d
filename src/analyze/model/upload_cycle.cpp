// Compares the buffers of uploads, and what is launched between them.
#include "analyze/model/upload_cycle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/model/threads.h"
#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

// Both are guesses. The share leaves room for a round that ends early.
constexpr std::size_t kMinPieces = 4;  // a loader may rotate through fewer buffers
constexpr double kNearlyAll = 0.9;

bool is_most_of(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) >= kNearlyAll * static_cast<double>(whole);
}

using Buffer = std::pair<std::uint64_t, std::uint64_t>;  // address and bytes of host memory

// How many uploads come before the last one's buffer comes again, if the others recur after as many; else 1.
std::size_t length_of(std::span<const Buffer> buffers, std::size_t least_rounds) {
  const auto last = buffers.rbegin();
  const auto length = static_cast<std::size_t>(std::find(last + 1, buffers.rend(), *last) - last);
  if (length < kMinPieces || buffers.size() < least_rounds * length || buffers.size() <= length) return 1;
  std::size_t same = 0;
  for (std::size_t i = length; i < buffers.size(); ++i) same += buffers[i] == buffers[i - length];
  return is_most_of(same, buffers.size() - length) ? length : 1;
}

// The launches of each upload's thread since the upload before it.
std::vector<std::int64_t> launches_before(const Timeline& timeline, std::span<const std::uint32_t> uploads) {
  std::vector<std::int64_t> counts(uploads.size(), 0);
  for (std::size_t i = 1; i < uploads.size(); ++i) {
    const std::uint32_t thread = timeline.calls[uploads[i]].thread;
    for (std::uint32_t call = uploads[i - 1] + 1; call < uploads[i]; ++call) {
      counts[i] += timeline.calls[call].thread == thread && is_launch(timeline.calls[call]);
    }
  }
  return counts;
}

}  // namespace

UploadCycle upload_cycle_of(const Timeline& timeline, std::span<const std::uint32_t> uploads,
                            std::size_t least_rounds) {
  std::vector<Buffer> buffers;
  for (const std::uint32_t call : uploads) {
    if (call == kNone || timeline.calls[call].src == 0) return {};
    buffers.emplace_back(timeline.calls[call].src, timeline.calls[call].bytes);
  }
  if (buffers.empty()) return {};
  // Else launches_before() would go over the same calls for each upload.
  if (!std::is_sorted(uploads.begin(), uploads.end())) return {};
  const std::size_t length = length_of(buffers, least_rounds);
  if (length == 1) return {};
  const std::vector<std::int64_t> counts = launches_before(timeline, uploads);
  const std::int64_t usual = median(std::vector(counts.begin() + 1, counts.end())).value_or(0);
  // What comes before the first upload of the recording is not known.
  UploadCycle cycle;
  std::size_t most_others = 0;
  for (std::size_t first = 0; first < length; ++first) {
    std::size_t count = 0;
    std::size_t others = 0;
    for (std::size_t i = first == 0 ? length : first; i < uploads.size(); i += length) {
      ++count;
      others += counts[i] > usual;
    }
    if (count == 0 || !is_most_of(others, count) || others <= most_others) continue;
    most_others = others;
    cycle = {length, first};
  }
  return cycle;
}

}  // namespace turnpike::analyze
