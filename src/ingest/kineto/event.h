// One event of a Chrome trace as torch.profiler writes them: the fields that matter here, where they stand in the text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "ingest/kineto/json_cursor.h"
#include "trace/format.h"

namespace turnpike::ingest {

// What an event is of. The names of NVIDIA's files stand for those of AMD and Intel too.
enum class Category : std::uint8_t {
  kOther,  // with a name that means nothing here: flows of ids, overhead of the profiler, annotations on the GPU
  kMetadata,
  kOperator,
  kAnnotation,
  kPython,
  kRuntimeCall,
  kDriverCall,
  kMemcpy,
  kMemset,
  kKernel,
  kSynchronisation,
  kForwardBackward,
};

inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

// Whole numbers among the arguments; texts of digits count too.
enum class Argument : std::uint8_t {
  kCorrelation,
  kBytes,
  kSize,  // AMD: of a copy, at its call
  kDevice,
  kInDevice,
  kFromDevice,
  kToDevice,
  kContext,
  kInContext,
  kStream,
  kGraph,
  kGraphNode,
  kSequence,
  kForwardThread,
  kWaitOnRecord,
  kWaitOnStream,
  kCount,
};

// Valid as long as the window of text that it was read from.
struct KinetoEvent {
  JsonValue name;
  JsonValue text;  // of the arguments: the name or labels of metadata, the kind of a synchronisation
  std::int64_t start_ns = trace::kUnknownTime;
  std::int64_t duration_ns = trace::kUnknownTime;
  std::int64_t pid = kAbsent;  // kAbsent for the rows of the profiler itself, which are text
  std::int64_t tid = kAbsent;
  Category category = Category::kOther;
  char phase = '\0';  // of the trace format: X, M, s, f, ...
  bool has_category = false;
  std::array<std::int64_t, static_cast<std::size_t>(Argument::kCount)> arguments;

  std::int64_t argument(Argument which) const { return arguments[static_cast<std::size_t>(which)]; }
  bool has_times() const { return start_ns != trace::kUnknownTime && duration_ns != trace::kUnknownTime; }
};

// Reads the event whose `{` the cursor is at; the cursor is behind it when the result is kOk. Of a key that comes twice
// the last one counts.
Scan read_event(JsonCursor& cursor, KinetoEvent& event);

}  // namespace turnpike::ingest
