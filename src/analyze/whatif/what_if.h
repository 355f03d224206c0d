// What a step would take if the program did its transfers otherwise: changes by name, made to the graph and re-timed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/graph/process_model.h"

namespace turnpike::analyze {

// What each means stands in the table in what_if.cpp, which `turnpike whatif --help` prints.
enum class Change : std::uint8_t {
  kPin,
  kNonBlocking,
  kRemoveSync,
  kDeferSync,
  kHoistUpload,
  kMergeCopies,
  kPrefetch,
  kPrefetchNext,
  kSideStreams,
  kFullLinkSpeed,
  kFasterLoader,
  kGraphLaunch,
  kSkipHostCopy,
  kConvertOnDevice,
  kKeepOnDevice,
  kRemoveAllocation,
  kFullLinkWidth,
  kHoistWork,
  kStageInThreads,
  kNoCpuWork,
  kNoDeviceCopy
};
const char* name_of(Change change);     // "hoist_upload"
const char* meaning_of(Change change);  // "the upload is made once, before the loop"
std::optional<Change> change_named(std::string_view name);
std::span<const Change> all_changes();

// The calls that a change is about, as indices of the graph's, rising. Those that it cannot apply to are passed over.
using Selection = std::vector<std::uint32_t>;

// The calls of one line ("train.py:30", or the end of a path with a line), of all lines when `site` is empty.
Selection calls_at(const ProcessModel& model, std::string_view site);

struct Applied {
  Selection calls;       // that the change was made to; one with several copies as often as it has them
  bool is_known = true;  // false: a figure that the change needs is not known (the link's rate)
};

// Makes the change in `graph`, a copy of the model's, which is of no use where the result is not known.
// `ahead`: of kPrefetchNext.
Applied apply(const ProcessModel& model, Graph& graph, Change change, const Selection& calls, std::uint32_t ahead = 1);

struct NamedChange {
  Change change;
  Selection calls;
  std::uint32_t ahead = 1;  // of kPrefetchNext: how many uploads are on their way while one is used
};

// Whether steps are predicted with pauses: where most of the calls that change lie in them, as those of a checkpoint
// do.
Pauses pauses_for(const ProcessModel& model, std::span<const NamedChange> changes);

}  // namespace turnpike::analyze
