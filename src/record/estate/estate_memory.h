// An estate: the memory of a recorded process that `turnpike record` shares with it and that outlives it. It holds all
// that the recorder has not written to its file yet: the rings of the threads, the batch of records, the definitions.
// A process may end anywhere (SIGKILL), so each step of the recorder leaves the estate whole: the bytes of a record or
// definition are there before its size is published, and one of two commits says how much the file has.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/handover/thread_buffer.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {

// The recorder and `turnpike record` may be of two versions: change it with every structure in here.
inline constexpr std::uint32_t kEstateLayout = 4;

// How far the file is. What the file has beyond it, the estate has too.
struct EstateCommit {
  std::uint32_t file;  // which of EstateHead::files
  std::uint32_t reserved;
  std::uint64_t file_bytes;
  std::uint64_t string_bytes;
  std::uint64_t frame_count;
  std::uint64_t stack_bytes;
  RecordCounts counts;
  RecordCounts counts_before_file;  // a segment's end gives what the segment holds
};

// A file that records go to.
struct EstateFile {
  std::uint64_t device;
  std::uint64_t inode;
  char path[4096];
};

enum class EstateState : std::uint32_t {
  kClosed,  // no file is being written
  kOpen,    // one is, as long as the process is there
  kHeld,    // one is, as long as `owner` is held
};

// What the process is about to do that ends it, as far as the recorder knows.
enum class EstateEnding : std::uint32_t {
  kNone,  // it was killed or crashed, if it has ended
  kExec,
  kExit,
};

struct EstateHead {
  std::uint32_t layout;
  std::uint32_t pid;
  std::uint64_t pid_namespace;
  // Held by the recorder's own thread while it records. It is robust: the kernel tells when its owner has died.
  pthread_mutex_t owner;
  std::atomic<EstateState> state;
  std::atomic<EstateEnding> ending;
  std::atomic<std::uint32_t> ring_count;
  std::atomic<std::uint32_t> current;  // the commit that holds, and the batch's area that is not in the file
  EstateCommit commits[2];
  std::int64_t source_as_of_ns;  // of files that the program runs; trace::kUnknownTime: their source is not wanted
  LossCounters losses;
  EstateFile files[2];  // of segments in turn the one that is written and the one before
};

namespace estate {

constexpr std::size_t in_pages(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{64} << 10;  // the largest of any processor
  return (bytes + kPage - 1) / kPage * kPage;
}

inline constexpr std::size_t kStringsAt = in_pages(sizeof(EstateHead));
inline constexpr std::size_t kFramesAt = kStringsAt + in_pages(StringTable::kMemoryBytes);
inline constexpr std::size_t kStacksAt = kFramesAt + in_pages(StackMemory::kFramesBytes);
inline constexpr std::size_t kBatchAt = kStacksAt + in_pages(StackMemory::kStacksBytes);
inline constexpr std::size_t kRingsAt = kBatchAt + 2 * in_pages(RecordBatch::kAreaBytes);
// Threads beyond these have rings that die with the process.
inline constexpr std::size_t kMaxRings = 256;
inline constexpr std::size_t kBytes = std::size_t{256} << 20;
static_assert(kRingsAt + kMaxRings * sizeof(ThreadBuffer) <= kBytes);

inline std::span<std::byte> strings(std::byte* base) {
  return {base + kStringsAt, StringTable::kMemoryBytes};
}
inline std::span<std::byte> frames(std::byte* base) {
  return {base + kFramesAt, StackMemory::kFramesBytes};
}
inline std::span<std::byte> stacks(std::byte* base) {
  return {base + kStacksAt, StackMemory::kStacksBytes};
}
inline std::span<std::byte> batch(std::byte* base, std::size_t area) {
  return {base + kBatchAt + area * in_pages(RecordBatch::kAreaBytes), RecordBatch::kAreaBytes};
}
inline std::span<std::byte> rings(std::byte* base) {
  return {base + kRingsAt, kMaxRings * sizeof(ThreadBuffer)};
}

// The file that all estates of a run share: a page that tells which are taken, then the estates. Pages that nobody
// wrote take no memory.
inline constexpr std::size_t kCount = 1024;
inline constexpr std::size_t kDirectoryBytes = in_pages(kCount * sizeof(std::atomic<std::uint32_t>));
inline constexpr std::size_t kFileBytes = kDirectoryBytes + kCount * kBytes;
constexpr std::size_t offset_of(std::size_t number) {
  return kDirectoryBytes + number * kBytes;
}

}  // namespace estate
}  // namespace turnpike::record
