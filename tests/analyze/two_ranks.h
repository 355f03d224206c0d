// Two ranks of one program, played by hand: each step they work, and then meet in an all-reduce.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/process_builder.h"

namespace turnpike::analyze {

struct RankWork {
  std::int64_t upload_ns = 0;  // of page-locked memory, in a call that waits for it; 0: none
  std::int64_t kernel_ns = 0;
};

class TwoRanks {
 public:
  static constexpr std::int64_t kTransferNs = 50'000;

  explicit TwoRanks(const std::string& collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)")
      : collective_(collective) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Rank& one = ranks_[rank];
      one.builder.process().metadata["rank"] = std::to_string(rank);
      one.builder.device(0, "GPU");
      one.upload = one.builder.stack(
          {one.builder.op("copy_"), one.builder.op("to_dtype_layout"), one.builder.python("step", "train.py", 7)});
    }
  }

  void step(const RankWork& first, const RankWork& second) {
    const std::array works = {first, second};
    for (std::size_t rank = 0; rank < 2; ++rank) work(ranks_[rank], works[rank]);
    const std::int64_t end_ns = std::max(ranks_[0].meets_ns, ranks_[1].meets_ns) + kTransferNs;
    for (Rank& rank : ranks_) {
      rank.builder.kernel(
          {.start_ns = rank.meets_ns, .end_ns = end_ns, .correlation = rank.correlation, .name = collective_});
      launch(rank, rank.correlation);
      const std::int64_t waits_from_ns = rank.host_ns;
      rank.host_ns = end_ns + 5000;
      rank.builder.call({.kind = trace::CallKind::kSynchronize,
                         .start_ns = waits_from_ns,
                         .end_ns = rank.host_ns,
                         .correlation = ++rank.correlation,
                         .name = "cudaDeviceSynchronize",
                         .device = 0});
      rank.builder.range("step", rank.step_start_ns, rank.host_ns);
    }
  }

  std::vector<LoadedProcess> take() {
    std::vector<LoadedProcess> processes;
    for (Rank& rank : ranks_) processes.push_back(rank.builder.take());
    return processes;
  }

 private:
  struct Rank {
    ProcessBuilder builder;
    std::uint32_t upload = 0;  // stack
    std::uint32_t correlation = 0;
    std::int64_t host_ns = 0;
    std::int64_t step_start_ns = 0;
    std::int64_t meets_ns = 0;
  };

  static void launch(Rank& rank, std::uint32_t correlation) {
    rank.builder.call({.kind = trace::CallKind::kLaunch,
                       .start_ns = rank.host_ns,
                       .end_ns = rank.host_ns + 5000,
                       .correlation = correlation,
                       .name = "cudaLaunchKernel",
                       .device = 0});
    rank.host_ns += 5000;
  }

  static void work(Rank& rank, const RankWork& work) {
    rank.step_start_ns = rank.host_ns;
    if (work.upload_ns > 0) {
      const std::int64_t start_ns = rank.host_ns + 5000;
      const std::int64_t end_ns = start_ns + work.upload_ns;
      rank.builder.copy({.start_ns = start_ns, .end_ns = end_ns, .correlation = ++rank.correlation, .bytes = 1 << 24});
      rank.builder.call({.start_ns = rank.host_ns,
                         .end_ns = end_ns + 3000,
                         .correlation = rank.correlation,
                         .stack = rank.upload,
                         .device = 0,
                         .bytes = 1 << 24});
      rank.host_ns = end_ns + 3000;
    }
    launch(rank, ++rank.correlation);
    const std::int64_t start_ns = rank.host_ns;
    rank.meets_ns = start_ns + work.kernel_ns + 1000;
    rank.builder.kernel({.start_ns = start_ns, .end_ns = start_ns + work.kernel_ns, .correlation = rank.correlation});
    ++rank.correlation;
  }

  std::string collective_;
  std::array<Rank, 2> ranks_;
};

}  // namespace turnpike::analyze
