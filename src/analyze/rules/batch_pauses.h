// The pauses before the calls that take a batch, with what samples of their thread show in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/intervals.h"
#include "analyze/model/loader_frames.h"

namespace turnpike::analyze {

struct BatchPause {
  Interval time;
  std::uint32_t taker;
  std::string site;                                // of the taker
  std::array<std::size_t, kDoingCount> samples{};  // that tell, by Doing
  std::optional<Where> loop{};                     // of the last sample that shows one

  std::size_t count(Doing doing) const { return samples[static_cast<std::size_t>(doing)]; }
  std::size_t all() const { return std::accumulate(samples.begin(), samples.end(), std::size_t{0}); }
  std::size_t of_loader() const {
    return count(Doing::kStartsWorkers) + count(Doing::kAwaitsWorkers) + count(Doing::kReceives) + count(Doing::kLoads);
  }
  std::size_t of_other_work(bool has_loader) const {
    return count(Doing::kOtherWork) + (has_loader ? count(Doing::kElse) : 0);
  }
};

// In the order of time. Leaves out the pauses that other rules report.
std::vector<BatchPause> find_batch_pauses(const ProcessModel& model);

// Whether what the thread did before the call was to copy into memory that it had just page-locked, or to work on as
// many bytes as had just come down: other rules tell that.
bool is_work_of_another_kind(const ProcessModel& model, std::uint32_t call);

std::uint64_t link_bytes(const ProcessModel& model, std::uint32_t call, Direction direction);

}  // namespace turnpike::analyze
