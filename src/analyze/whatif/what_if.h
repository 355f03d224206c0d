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

enum class Change : std::uint8_t {
  kPin,              // uploads and downloads use page-locked memory and non_blocking=True
  kNonBlocking,      // uploads as they are, but the host goes on meanwhile
  kRemoveSync,       // nothing is read back here: neither the copy down nor the wait for it
  kDeferSync,        // the result is read one step later
  kHoistUpload,      // the upload is made once, before the loop
  kMergeCopies,      // the copies of a step that follow each other cross as one
  kPrefetch,         // the upload runs on a side stream, one step ahead
  kSideStreams,      // the copy between GPUs runs on side streams of both
  kFullLinkSpeed,    // the copy reaches the link's rate
  kFasterLoader,     // the next batch is ready when it is asked for
  kGraphLaunch,      // the launches of a step become one
  kSkipHostCopy,     // the host makes no copy of the data, gathered or converted, before the upload
  kConvertOnDevice,  // the data crosses as it is stored, and is converted on the device: a quarter of the bytes
  kKeepOnDevice,     // down, changed on the host and up again: the work stays on the device
  kRemoveAllocation  // nothing is allocated or freed here
};
// E.g. "hoist_upload".
const char* name_of(Change change);
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
Applied apply(const ProcessModel& model, Graph& graph, Change change, const Selection& calls);

struct NamedChange {
  Change change;
  Selection calls;
};

// What a step takes with all changes together, one after the other, on the scale of the measured one; nullopt where one
// cannot be predicted.
std::optional<double> predict_step_ns(const ProcessModel& model, std::span<const NamedChange> changes);

}  // namespace turnpike::analyze
