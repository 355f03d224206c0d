// Every way in which a recording can be incomplete: a named counter with a sentence for the user.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace turnpike::trace {

// The numbers stand in files: never reuse one.
enum class Loss : std::uint32_t {
  kCuptiDropped = 1,         // CUPTI ran out of buffers inside the driver
  kActivityBuffersFull = 2,  // records in buffers that the pool had no room for
  kCallBuffersFull = 3,      // calls that a thread could not hand over in time
  kUnknownActivity = 4,      // activity records of a shape that this version does not know
  kInvalidDeviceTimes = 5,   // device records whose times CUPTI could not give
  kStacksFull = 6,           // stacks beyond what the table of stacks holds
  kStackNotWalked = 7,       // calls whose stack could not be walked at all
  kStackTruncated = 8,       // stacks deeper than what is kept
  kWriteFailed = 9,          // bytes that could not be written (disk full, quota, I/O error)
  kOtherCuptiUser = 10,      // another tool held or took CUPTI
  kCuptiCallFailed = 11,     // a CUPTI function failed: what it would have switched on is missing
  kClockStepped = 12,        // the system clock was set while recording
  kUnnamedLibrary = 13,      // native frames whose module could not be read for names
  kNoNativeFrames = 14,      // stacks without native frames, because of the processor
  kEndedEarly = 15,          // the process was killed or crashed; `turnpike record` closed its file
  kPythonUnknown = 16,       // calls without lines, because the recorder does not know this build of Python
  kMemoryUnreadable = 17,    // content of copies, and samples, that a sandbox forbade to look at
  kStoppedAtSize = 18,       // recording stopped: the file had the size that Options::max_bytes allows
  kStoppedDiskLow = 19,      // recording stopped: the disk, a quota or a limit left no more room
  kNamesFull = 20,           // names that the table of names had no room for
  kNvtxNotHeard = 21,        // NVTX ranges: the recorder came when the program had initialised NVTX
  kOtherDeviceClock = 22,    // times of the device that were led over from another clock than the host's
  kSharedByMps = 23,         // what other programs did on the GPU, and what its link carried
  kMpsKernels = 24,          // kernels, whose tracing might hang a client of MPS in these versions
  kRangesTooMany = 25,       // NVTX ranges beyond what is noted of those that are open at once
  kFunctionsNotHeard = 26,   // functions of CUDA whose ids lie beyond what the recorder has room for
  kEndedByExec = 27,         // the process became another program; `turnpike record` closed its file
  kEndedInExit = 28,         // the process ended before the recorder could close its file; `turnpike record` did
  // Found by readers:
  kNotClosed = 100,           // the file has no end: the process was killed, or left by exec
  kDamagedBytes = 101,        // bytes that belong to no whole chunk
  kUnknownChunk = 102,        // chunks of a type this version does not know
  kUnknownRecord = 103,       // records of a kind this version does not know
  kUndefinedReference = 104,  // ids of strings, frames or stacks that the file does not define
  kUnmatchedActivity = 105,   // device records whose call is not in the file
  kCountMismatch = 106,       // records that the recorder counted and the file does not hold
  kMissingActivity = 107,     // copies that were called and whose device record never came
  kUnreadableEvent = 108,     // events of another tool's file that make no sense: wrong types, impossible values
  kHiddenGraphCopies = 109,   // launches of CUDA graphs that another tool recorded as one piece each
  kUnknownCopySize = 110,     // copies and memsets whose size another tool's file does not tell
  kMissingSegment = 111,      // segments of a recording with `--last` that are not there or no traces
  kPathsFolded = 112,         // stacks of which the report keeps the line alone, because there are so many
  // As kMissingActivity, of a process that ended so:
  kMissingAtKill = 113,
  kMissingAtExec = 114,
  kMissingAtExit = 115,
};

// What a loss does to the figures of a report.
enum class LossEffect : std::uint8_t {
  kOther,       // they lack names or lines, or nobody can tell how much they lack
  kTooLow,      // these records never came into the file
  kIncomplete,  // a part of the file is damaged, cut off or gone
};

struct LossInfo {
  Loss loss;
  LossEffect effect;
  std::string_view name;      // the key in `report --json`, e.g. "cupti_dropped"
  std::string_view sentence;  // what it means and what to do, for the user
  // The same for a file of another tool; empty: the same.
  std::string_view of_other_tool{};
};

// All of them, in the order of the enum.
std::span<const LossInfo> all_losses() noexcept;
// nullptr for a number or a name that this version does not know.
const LossInfo* find_loss(std::uint32_t number) noexcept;
const LossInfo* find_loss(std::string_view name) noexcept;

// As which loss the copies of a process count whose device record never came: by the way in which it ended. `losses`
// are the process's.
Loss missing_activity_of(const std::map<std::uint32_t, std::uint64_t>& losses);

}  // namespace turnpike::trace
