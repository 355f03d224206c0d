// Every figure that predictions rest on and that no recording shows. docs/whatif.md has them in a table, with the same
// words (tests/docs/test_cost_model.py).
//
// The comment beside a figure describes it, and names its source after "from". Figures marked [H100] were measured on
// an H100 and its host, and hold for such a machine; the others are properties of PyTorch or of CUDA, or a choice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::analyze {

// --- What the CPU takes

// One thread copies: to pack tensors, or the driver to stage pageable memory; GB/s; from uploads of pageable
// memory, 8.5 GB/s [H100]
inline constexpr double kHostCopyGbps = 8.0;
// The threads of tp.to stage pageable memory; GB/s; from docs/move.md, 64 MiB of one tensor [H100]
inline constexpr double kStagedInThreadsGbps = 33.7;
// tp.to, for each tensor besides; ns; from docs/move.md, 500 tensors of 16 KiB [H100]
inline constexpr std::int64_t kStagedTensorNs = 6'600;
// Taking one tensor out of a packed one: a view; ns; an estimate
inline constexpr std::int64_t kViewNs = 1'000;
// What Python and PyTorch do around one call of an operator, at most; ns; a choice
inline constexpr std::int64_t kOperatorNs = 20'000;
// Launching a CUDA graph; ns; an estimate
inline constexpr std::int64_t kGraphLaunchNs = 10'000;
// Taking over a batch that is ready; ns; a choice
inline constexpr std::int64_t kReadyBatchNs = 100'000;
// tp.fetch for one number; ns; from docs/move.md, "A launch-bound step that logs" [H100]
inline constexpr double kFetchNs = 57'000;
// tp.fetch of a small tensor, and the kernel of torch.stack; ns; from docs/move.md, as before [H100]
inline constexpr double kFetchStackedNs = 132'000;
// Looking up 64 KiB of a mapped file; ns; from bench/field, mapped_model [H100]
inline constexpr double kLookUpNs = 1'200;
// Handing a batch of graphs from process to process; ns; from bench/field, pyg_batches [H100]
inline constexpr std::int64_t kHandingGraphsNs = 4'000'000;
// All cores together write; GB/s; a choice, faster than any host that was seen
inline constexpr double kFillingGbps = 100;

// --- What copies take

// A copy over the link, besides its bytes; ns; from recordings of small copies [H100]
inline constexpr std::int64_t kCopyStartNs = 1'200;
// A download into pages that were used before; GB/s; from downloads of large tensors [H100]
inline constexpr double kUsedPagesGbps = 12;
// Slower downloads come into pages that the system must clear first; GB/s; from downloads, 1 to 2 into such [H100]
inline constexpr double kNewPagesGbps = 5;
// Of a download, what comes into the caches of the CPU at most; bytes; from the third-level cache of eight EPYC cores
inline constexpr double kMostCachedBytes = 32 << 20;
// Of the link's rates up and down added up, what both directions reach together; share; from 92 to 97 of 110 GB/s
// [H100]
inline constexpr double kBothDirectionsShare = 0.86;
// Numbers stored as bytes, as 32-bit floats; times; by definition
inline constexpr std::uint64_t kBytesPerStoredByte = 4;

// --- What the device takes, where the recording does not show it

// Start of a call to the start of its work on an idle stream; ns; from recordings of small programs [H100]
inline constexpr std::int64_t kUsualLaunchNs = 6'000;
// End of work to the start of the next on its stream; ns; from recordings of small programs [H100]
inline constexpr std::int64_t kUsualGapNs = 1'000;
// End of work to the start of work that waits for its event; ns; from recordings of small programs [H100]
inline constexpr std::int64_t kUsualEventNs = 2'000;
// A call that waits for nothing; ns; from recordings of small programs [H100]
inline constexpr std::int64_t kUsualCallNs = 4'000;
// End of work to the return of the call that waits for it; ns; from recordings of small programs [H100]
inline constexpr std::int64_t kUsualWaitNs = 8'000;
// End of a node of a CUDA graph to the start of the next; ns; from bench/whatif, launch_bound [H100]
inline constexpr std::int64_t kGraphNodeLagNs = 330;
// Launches that the driver takes on one stream before the oldest has begun; calls; from the queue of CUDA
inline constexpr std::size_t kQueueLength = 1024;

// --- How much of a prediction advice reaches

// A compiled model, at least; share; from bench/field, 0.56 to 1.27 [H100]
inline constexpr double kCompiledAtLeast = 0.55;
// A compiled model, whose kernels the compiler joins besides, at most; share; from bench/field, 0.56 to 1.27 [H100]
inline constexpr double kCompiledAtMost = 1.27;
// A compiled model that reads values back, at least; share; a choice
inline constexpr double kCompiledWithReads = 0.4;
// A fused optimizer, of what its launches take, at least; share; a choice
inline constexpr double kFusedAtLeast = 0.2;
// Loading with more workers that may share cores, at least; share; a choice
inline constexpr double kWorkersAtLeast = 0.6;
// Loading in a thread of the same process, at most; share; a choice
inline constexpr double kThreadAtMost = 0.6;

// --- How far predictions are trusted

// A smaller saving is not told; per cent of a step; a choice
inline constexpr double kMinSavingPct = 1.0;
// Where the model misses the recorded step by less, a saving is taken as it is; share; a choice
inline constexpr double kTrustedShare = 0.02;
// Where it misses by more, no saving is claimed; share; a choice
inline constexpr double kUselessShare = 0.10;

// --- What is evidence that one thing waited for another

// Clocks of the CPU and the device agree to about this much; ns; a choice
inline constexpr std::int64_t kClockSlackNs = 3'000;
// Work with so much queued before it did not wait for its launch; ns; a choice
inline constexpr std::int64_t kBacklogNs = 20'000;
// A start that is so much later than explained asks for another reason; ns; a choice
inline constexpr std::int64_t kUnexplainedNs = 8'000;
// So shortly before such a start ends what it waited for; ns; a choice
inline constexpr std::int64_t kMadeRoomNs = 4'000;
// Work that could have started so long before other work was over, and did not, waited for it; ns; a choice
inline constexpr std::int64_t kHeldNs = 20'000;
// A call that takes longer, and ends when work does, may have waited for it; ns; a choice
inline constexpr std::int64_t kLongCallNs = 30'000;
// So shortly after the end of work returns a call that waited for it; ns; a choice
inline constexpr std::int64_t kReturnNs = 25'000;
// With so many operations under way the driver's queue may be full; operations; a choice
inline constexpr std::size_t kLongQueue = 256;
// A thread that makes no call for longer may wait for another thread; ns; a choice
inline constexpr std::int64_t kPauseOfThreadNs = 100'000;
// Worker processes of a DataLoader for which a thread waits less of the time could deliver faster; share; a choice
inline constexpr double kLateWorkers = 0.05;
// So shortly after the other thread's call it goes on; ns; a choice
inline constexpr std::int64_t kHandoverNs = 200'000;
// A link on which copies of page-locked memory reach less of its rate is not what they wait for; share; a choice
inline constexpr double kAtLinkRateShare = 0.8;

}  // namespace turnpike::analyze
