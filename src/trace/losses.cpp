// The losses: their names in reports, what each means and what to do about it.
#include "trace/losses.h"

#include <algorithm>
#include <iterator>

namespace turnpike::trace {
namespace {

constexpr LossInfo kLosses[] = {
    {Loss::kCuptiDropped, LossEffect::kTooLow, "cupti_dropped",
     "The CUDA driver ran out of buffers and dropped records of device work. Record a shorter part of the program, or "
     "with --detail transfers."},
    {Loss::kActivityBuffersFull, LossEffect::kTooLow, "activity_buffers_full",
     "Records of device work came faster than they could be written, and there was no room to keep them. Write the run "
     "to a faster disk, or record with --detail transfers."},
    {Loss::kCallBuffersFull, LossEffect::kTooLow, "call_buffers_full",
     "Calls of the CUDA API came faster than they could be written. Write the run to a faster disk, or record with "
     "--detail transfers."},
    {Loss::kUnknownActivity, LossEffect::kOther, "unknown_activity",
     "CUPTI delivered records of a shape that this version of Turnpike does not know, and they were left out. Update "
     "Turnpike to one that knows the installed CUDA."},
    {Loss::kInvalidDeviceTimes, LossEffect::kOther, "invalid_device_times",
     "The driver gave no times for some device work, which counts in bytes but not in time. Nothing needs doing unless "
     "there are many: then update the driver."},
    {Loss::kStacksFull, LossEffect::kOther, "stacks_full",
     "The program has more different call stacks than are kept, so some calls have no line of code. Record a shorter "
     "part of the program."},
    {Loss::kStackNotWalked, LossEffect::kOther, "stack_not_walked",
     "The line of code could not be found for some calls. Check in the report's process list that this Python version "
     "is supported."},
    {Loss::kStackTruncated, LossEffect::kOther, "stack_truncated",
     "Some call stacks are deeper than what is kept, and their outermost frames are missing. The line that made the "
     "call is still right: nothing needs doing."},
    {Loss::kWriteFailed, LossEffect::kOther, "write_failed",
     "These bytes could not be written to the run, because the disk or a quota was full or failed. Free some room or "
     "choose another place with -o, and record again."},
    {Loss::kOtherCuptiUser, LossEffect::kOther, "other_cupti_user",
     "Another profiler held CUPTI, which serves one at a time, so parts of the program were not recorded. Switch off "
     "torch.profiler, Nsight or other profilers while recording."},
    {Loss::kCuptiCallFailed, LossEffect::kOther, "cupti_call_failed",
     "A function of CUPTI failed, and what it would have switched on is missing. Check that the installed CUPTI "
     "belongs to the CUDA version of the program, and that profiling is permitted."},
    {Loss::kClockStepped, LossEffect::kOther, "clock_stepped",
     "The system clock was set while recording, so times before and after the step do not compare. Record again while "
     "the clock is left alone."},
    {Loss::kUnnamedLibrary, LossEffect::kOther, "unnamed_library",
     "A library in a call stack could not be read, so its functions have no names. Check that the library's file is "
     "still there and readable."},
    {Loss::kNoNativeFrames, LossEffect::kOther, "no_native_frames",
     "Turnpike cannot find the native frames of these calls on this kind of processor yet: their stacks have the lines "
     "of Python, but no C++ functions, operators or phases. Record on x86-64 or aarch64 to see those."},
    {Loss::kEndedEarly, LossEffect::kOther, "ended_early",
     "The process was killed or crashed: its calls are complete, but what the GPU did in the last 20 ms may be missing. "
     "If that matters, let the program end by itself, or stop the recording before it ends."},
    {Loss::kPythonUnknown, LossEffect::kOther, "python_unknown",
     "Turnpike does not know where this build of Python keeps its frames, so these calls have no line of code. Update "
     "Turnpike, or record with a build of CPython that docs/record.md names."},
    {Loss::kMemoryUnreadable, LossEffect::kOther, "memory_unreadable",
     "A sandbox forbids the program to read its own memory, so the content of these copies was not compared and no samples "
     "of Python were taken. Permit the system call process_vm_readv, as in the container's seccomp profile."},
    {Loss::kStoppedAtSize, LossEffect::kOther, "stopped_at_size",
     "Recording stopped when the file of the process had the size that --max-size allows, and the program ran on "
     "unrecorded. Record a shorter part of the program, or with --detail transfers, or allow more."},
    {Loss::kStoppedDiskLow, LossEffect::kOther, "stopped_disk_low",
     "Recording stopped because the disk of the run, or a quota on it, was nearly full, and the program ran on "
     "unrecorded. Free some room or choose another place with -o, and record again."},
    {Loss::kNamesFull, LossEffect::kOther, "names_full",
     "The program has more different names than are kept, so some NVTX ranges, functions or files have none. Give ranges of "
     "one kind one name, without the number of the step, or record a shorter part of the program."},
    {Loss::kNvtxNotHeard, LossEffect::kOther, "nvtx_not_heard",
     "`turnpike attach` loaded the recorder into a program that was already running, where NVTX takes no listener: if the "
     "program makes NVTX ranges or names, they are missing, and so are steps made of them. Start it with `turnpike record "
     "--dormant` to have them."},
    {Loss::kOtherDeviceClock, LossEffect::kOther, "other_device_clock",
     "CUPTI timed the GPU's work by another clock than the host's, as it does in WSL2, so its times were led over by readings "
     "of both clocks. Take differences of a few microseconds between the host and the GPU for nothing."},
    {Loss::kSharedByMps, LossEffect::kOther, "shared_by_mps",
     "The process was a client of CUDA's Multi-Process Service (MPS): other programs may have used its GPU at the same time, "
     "which is not in its recording, and what the link carried was not asked for, because it is theirs, too. Record all clients "
     "into one run, or without MPS, to see who kept the GPU busy."},
    {Loss::kMpsKernels, LossEffect::kOther, "mps_kernels",
     "Kernels were not recorded, because tracing them may hang a client of CUDA's Multi-Process Service (MPS) with this "
     "version of CUPTI or of the driver. Use CUPTI 13.0 and driver 580 or later, or record without MPS."},
    {Loss::kRangesTooMany, LossEffect::kOther, "ranges_too_many",
     "The program had more NVTX ranges open at once than are noted, and the rest is missing: the innermost of more than 64 "
     "nested pushes in a thread, or ranges that were started and never ended. Usually a pop or an end is missing in the "
     "program."},
    {Loss::kFunctionsNotHeard, LossEffect::kOther, "functions_not_heard",
     "The installed CUDA has functions that copy, wait, launch or allocate, and for which this version of Turnpike has no room: "
     "calls of them have no line. Update Turnpike to one that knows the installed CUDA."},
    {Loss::kEndedByExec, LossEffect::kOther, "ended_by_exec",
     "The process became another program by exec: its calls are complete, and so is what the GPU had done by then. What "
     "it had still to do was given up with the process."},
    {Loss::kEndedInExit, LossEffect::kOther, "ended_in_exit",
     "The process exited before the recorder could close its file, because it was interrupted amid a call of CUDA or "
     "killed: its calls are complete, but what the GPU did in the last 20 ms may be missing. Let the program synchronize "
     "before it exits, or stop the recording before that."},
    {Loss::kNotClosed, LossEffect::kIncomplete, "not_closed",
     "The recording was cut off, and its last moments are missing: the process was killed, or became another program by "
     "exec, and no `turnpike record` waited for it. Let the program end by itself, or stop the recording before it ends.",
     "The file ends in the midst of its list of events: it was cut off, or is still being written. Copy it again from where "
     "it was made, or export it again."},
    {Loss::kDamagedBytes, LossEffect::kIncomplete, "damaged_bytes",
     "These bytes of the file are damaged or cut off and were passed over. Copy the run again from where it was made, "
     "or record again.",
     "These bytes of the file are damaged or cut off and were passed over. Copy the file again from where it was made, or "
     "export it again."},
    {Loss::kUnknownChunk, LossEffect::kOther, "unknown_chunk",
     "The file has parts of a type that this version of Turnpike does not know. Update Turnpike to the version that "
     "wrote the file."},
    {Loss::kUnknownRecord, LossEffect::kOther, "unknown_record",
     "The file has records of a kind that this version of Turnpike does not know. Update Turnpike to the version that "
     "wrote the file."},
    {Loss::kUndefinedReference, LossEffect::kOther, "undefined_reference",
     "Some names or lines of code that records point to are not in the file, because their part of it was lost. See "
     "the other losses for the reason, and record again."},
    {Loss::kUnmatchedActivity, LossEffect::kOther, "unmatched_activity",
     "Some device work has no call in the file that caused it, so its line of code is unknown. Usually the call was "
     "made before recording started: start recording earlier."},
    {Loss::kCountMismatch, LossEffect::kIncomplete, "count_mismatch",
     "The file holds fewer or more records than the recorder counted. See the other losses for the reason; where there "
     "are none, please report this as a bug."},
    {Loss::kMissingActivity, LossEffect::kOther, "missing_activity",
     "The program asked for copies whose record from the GPU never came, so they are missing from the figures: another "
     "user of CUPTI, such as torch.profiler, took the records, or the process ended before they came. Record without "
     "other profilers, and let the program end by itself."},
    {Loss::kUnreadableEvent, LossEffect::kIncomplete, "unreadable_event",
     "These events of the file make no sense, such as a text where a number belongs, and were left out. The file is "
     "damaged or was changed: export or record it again."},
    {Loss::kHiddenGraphCopies, LossEffect::kOther, "hidden_graph_copies",
     "These launches of CUDA graphs were recorded as one piece each, so the copies inside them cannot be seen. Record "
     "again with `nsys profile --cuda-graph-trace=node`."},
    {Loss::kUnknownCopySize, LossEffect::kOther, "unknown_copy_size",
     "The file does not tell the size of these copies, so they count as 0 bytes. Record again with a newer version of "
     "the tool that wrote the file, or with `turnpike record`."},
    {Loss::kMissingSegment, LossEffect::kIncomplete, "missing_segment",
     "These pieces (*.tps) of a recording of the last seconds of a process are missing or cannot be read; what "
     "happened then is not in the report. Copy the whole run directory again from where it was made."},
    {Loss::kPathsFolded, LossEffect::kOther, "paths_folded",
     "A process has more than 4,096 different call stacks: the report shows the costliest in full, and only the program's "
     "own line of the others. Record a shorter part of the program to see them all."},
    {Loss::kMissingAtKill, LossEffect::kOther, "missing_at_kill",
     "These copies are missing from the figures: the process was killed or crashed before their record came from the GPU. "
     "Let the program end by itself, or stop the recording before it ends."},
    {Loss::kMissingAtExec, LossEffect::kOther, "missing_at_exec",
     "These copies are missing from the figures: the process became another program by exec before their record came from "
     "the GPU. Let the program synchronize before exec."},
    {Loss::kMissingAtExit, LossEffect::kOther, "missing_at_exit",
     "These copies are missing from the figures: the process exited before their record came from the GPU. Let the "
     "program synchronize before it exits."},
};

static_assert(std::is_sorted(std::begin(kLosses), std::end(kLosses),
                             [](const LossInfo& a, const LossInfo& b) { return a.loss < b.loss; }));

}  // namespace

std::span<const LossInfo> all_losses() noexcept {
  return kLosses;
}

const LossInfo* find_loss(std::uint32_t number) noexcept {
  const auto found = std::lower_bound(
      std::begin(kLosses), std::end(kLosses), number,
      [](const LossInfo& info, std::uint32_t wanted) { return static_cast<std::uint32_t>(info.loss) < wanted; });
  return found != std::end(kLosses) && static_cast<std::uint32_t>(found->loss) == number ? found : nullptr;
}

const LossInfo* find_loss(std::string_view name) noexcept {
  const auto found =
      std::find_if(std::begin(kLosses), std::end(kLosses), [=](const LossInfo& info) { return info.name == name; });
  return found == std::end(kLosses) ? nullptr : found;
}

Loss missing_activity_of(const std::map<std::uint32_t, std::uint64_t>& losses) {
  const auto has = [&](Loss loss) { return losses.contains(static_cast<std::uint32_t>(loss)); };
  if (has(Loss::kOtherCuptiUser)) return Loss::kMissingActivity;  // who may have taken them
  if (has(Loss::kEndedEarly)) return Loss::kMissingAtKill;
  if (has(Loss::kEndedByExec)) return Loss::kMissingAtExec;
  return has(Loss::kEndedInExit) ? Loss::kMissingAtExit : Loss::kMissingActivity;
}

}  // namespace turnpike::trace
