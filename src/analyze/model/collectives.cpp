// Tells NCCL's kernels by their names, and walks the ranks' streams side by side.
#include "analyze/model/collectives.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {
namespace {

// By which clocks of processes of one machine, and the ends of one collective, may differ.
constexpr std::int64_t kSlackNs = 20'000;
// Of ten kernels so many must have met.
constexpr std::size_t kMetOfTen = 9;

using Stream = std::vector<RankCollectives::Kernel>;

// Walks one stream of each rank. A kernel that ended before another rank's began has no partner there: it is passed
// over, as those are that only one of the files holds.
void match_streams(std::span<const Stream* const> streams, std::vector<Meeting>& meetings) {
  std::vector<std::size_t> next(streams.size(), 0);
  const auto head = [&](std::size_t rank) -> const RankCollectives::Kernel& { return (*streams[rank])[next[rank]]; };
  const auto is_over = [&] {
    for (std::size_t rank = 0; rank < streams.size(); ++rank) {
      if (next[rank] >= streams[rank]->size()) return true;
    }
    return false;
  };
  while (!is_over()) {
    Meeting meeting;
    meeting.collective = head(0).collective;
    std::size_t first_over = 0;
    bool is_alike = true;
    for (std::size_t rank = 0; rank < streams.size(); ++rank) {
      const auto& kernel = head(rank);
      meeting.kernels.push_back(kernel);
      is_alike = is_alike && kernel.collective == meeting.collective;
      if (kernel.end_ns < head(first_over).end_ns) first_over = rank;
      if (kernel.start_ns > head(meeting.last_rank).start_ns) meeting.last_rank = rank;
    }
    meeting.complete_ns = head(meeting.last_rank).start_ns;
    if (!is_alike || meeting.complete_ns > head(first_over).end_ns + kSlackNs) {
      ++next[first_over];
      continue;
    }
    meetings.push_back(std::move(meeting));
    for (std::size_t& one : next) ++one;
  }
}

std::size_t count_kernels(const RankCollectives& rank) {
  std::size_t count = 0;
  for (const Stream& stream : rank.streams) count += stream.size();
  return count;
}

std::size_t kernel_part(std::string_view kernel_name) {
  const auto nccl = kernel_name.find("nccl");
  return nccl == std::string_view::npos ? nccl : kernel_name.find("Kernel_", nccl);
}

}  // namespace

bool is_of_nccl(std::string_view kernel_name) {
  return kernel_part(kernel_name) != std::string_view::npos;
}

std::string_view collective_of(std::string_view kernel_name) {
  // ncclDevKernel_AllReduce_Sum_f32_RING_LL(...); before NCCL 2.19 ncclKernel_AllReduce_RING_LL_Sum_float(...)
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames = {{
      {"AllReduce", "all-reduce"},
      {"AllGather", "all-gather"},
      {"ReduceScatter", "reduce-scatter"},
      {"Broadcast", "broadcast"},
      {"Reduce", "reduce"},
  }};
  const auto kernel = kernel_part(kernel_name);
  if (kernel == std::string_view::npos) return {};
  const std::string_view rest = kernel_name.substr(kernel + std::string_view("Kernel_").size());
  for (const auto& [name, collective] : kNames) {
    if (rest.starts_with(name)) return collective;
  }
  return {};
}

RankCollectives collectives_of(const trace::Process& process, const Timeline& timeline) {
  RankCollectives found;
  found.rank = value_of(process, "rank");
  std::map<std::uint32_t, std::string_view> collective_of_name;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> stream_index;
  for (std::uint32_t index = 0; index < timeline.kernels.size(); ++index) {
    const Kernel& kernel = timeline.kernels[index];
    if (!kernel.has_times()) continue;
    const auto [known, is_new] = collective_of_name.try_emplace(kernel.name);
    if (is_new) known->second = collective_of(process.string(kernel.name));
    if (known->second.empty()) continue;
    const auto stream = stream_index.try_emplace({kernel.device, kernel.stream}, found.streams.size());
    if (stream.second) found.streams.emplace_back();
    found.streams[stream.first->second].push_back(
        {kernel.start_ns, kernel.end_ns, index, known->second, kernel.device});
  }
  return found;
}

std::int64_t Meeting::wait_ns(std::size_t rank) const {
  return std::max<std::int64_t>(std::min(complete_ns, kernels[rank].end_ns) - kernels[rank].start_ns, 0);
}

std::int64_t Meeting::transfer_ns(std::size_t rank) const {
  return std::max<std::int64_t>(kernels[rank].end_ns - complete_ns, 0);
}

std::optional<std::vector<Meeting>> match_collectives(std::span<const RankCollectives> ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const std::size_t stream_count = ranks.front().streams.size();
  std::size_t most_kernels = 0;
  for (const RankCollectives& rank : ranks) {
    if (rank.streams.empty() || rank.streams.size() != stream_count) return std::nullopt;
    most_kernels = std::max(most_kernels, count_kernels(rank));
  }
  std::vector<Meeting> meetings;
  for (std::size_t stream = 0; stream < stream_count; ++stream) {
    std::vector<const Stream*> streams;
    for (const RankCollectives& rank : ranks) streams.push_back(&rank.streams[stream]);
    match_streams(streams, meetings);
  }
  if (10 * meetings.size() < kMetOfTen * most_kernels) return std::nullopt;
  std::sort(meetings.begin(), meetings.end(),
            [](const Meeting& a, const Meeting& b) { return a.complete_ns < b.complete_ns; });
  return meetings;
}

}  // namespace turnpike::analyze
