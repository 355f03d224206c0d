// Compares the pieces of uploads, and what is launched between them.
#include "analyze/model/upload_cycle.h"

#include <algorithm>
#include <vector>

#include "analyze/model/threads.h"
#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

using Piece = UploadCycle::Piece;

// All are guesses. The share leaves room for a round that ends early.
constexpr std::size_t kMinPieces = 4;  // a loader may rotate through fewer buffers
constexpr std::size_t kMinRounds = 3;
constexpr double kNearlyAll = 0.9;

bool is_most_of(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) >= kNearlyAll * static_cast<double>(whole);
}

// How many uploads come before the last one's piece comes again, if the others recur after as many; else 1.
std::size_t length_of(std::span<const Piece> pieces) {
  const auto last = pieces.rbegin();
  const auto length = static_cast<std::size_t>(std::find(last + 1, pieces.rend(), *last) - last);
  if (length < kMinPieces || pieces.size() < kMinRounds * length) return 1;
  std::size_t same = 0;
  for (std::size_t i = length; i < pieces.size(); ++i) same += pieces[i] == pieces[i - length];
  return is_most_of(same, pieces.size() - length) ? length : 1;
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

std::optional<UploadCycle> upload_cycle_of(const Timeline& timeline, std::span<const std::uint32_t> uploads) {
  std::vector<Piece> pieces;
  for (const std::uint32_t call : uploads) {
    if (call == kNone || timeline.calls[call].src == 0) return std::nullopt;
    pieces.push_back(piece_of(timeline.calls[call]));
  }
  if (pieces.empty()) return std::nullopt;
  // Else launches_before() would go over the same calls for each upload.
  if (!std::is_sorted(uploads.begin(), uploads.end())) return std::nullopt;
  const std::size_t length = length_of(pieces);
  if (length == 1) return std::nullopt;
  const std::vector<std::int64_t> counts = launches_before(timeline, uploads);
  const std::int64_t usual = median(std::vector(counts.begin() + 1, counts.end())).value_or(0);
  // What comes before the first upload of the recording is not known.
  std::optional<UploadCycle> cycle;
  std::size_t most_others = 0;
  for (std::size_t first = 0; first < length; ++first) {
    std::size_t count = 0;
    std::size_t others = 0;
    UploadCycle round;  // the newest: the pieces of the first one may have been others
    for (std::size_t i = first == 0 ? length : first; i < uploads.size(); i += length) {
      ++count;
      round = {pieces[i - 1], pieces[i], pieces[i + 1 < pieces.size() ? i + 1 : i + 1 - length]};
      others += counts[i] > usual;
    }
    if (count == 0 || !is_most_of(others, count) || others <= most_others) continue;
    most_others = others;
    cycle = round;
  }
  return cycle;
}

}  // namespace turnpike::analyze
