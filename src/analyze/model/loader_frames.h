// What a sample of a thread shows of loading: tells the code of a DataLoader by its files and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

// What a thread was doing.
enum class Doing : std::uint8_t {
  kElse,           // nothing of the below
  kOtherWork,      // what is no loading: it wrote a checkpoint, a picture, a plot, a log
  kLoads,          // a DataLoader ran the data set's code in this process
  kAwaitsWorkers,  // a DataLoader waited until its processes deliver
  kReceives,       // a DataLoader took over a batch that its processes had ready
  kStartsWorkers,  // a DataLoader ended its processes behind an epoch, or started new ones for the next
};
inline constexpr std::size_t kDoingCount = 6;

// `frames`: innermost first. nullopt: it was in a DataLoader, and nothing tells who loads.
std::optional<Doing> doing_of(std::span<const trace::Frame* const> frames);

// Whether the data set's code runs below this frame, in this process.
bool is_of_data_set(const trace::Frame& frame);

// Where the program asked a DataLoader for a batch or for an epoch: its innermost line outside of the DataLoader, with
// the DataLoader as the library that it led to. nullopt: no DataLoader, or no line of the program.
std::optional<Where> loop_line_of(std::span<const trace::Frame* const> frames);

}  // namespace turnpike::analyze
