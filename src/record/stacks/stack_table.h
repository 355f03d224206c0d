// The stacks of a recording: captured on the calling thread, each kept once and known by a number.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_log.h"
#include "base/fork_mutex.h"
#include "record/stacks/logged_frame.h"
#include "record/stacks/module_symbols.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/python_stack.h"
#include "record/stacks/string_table.h"
#include "record/stacks/word_cache.h"
#include "trace/format.h"

namespace turnpike::record {

// Where the table keeps its definitions, zeroed: LoggedFrame and StackEntry payloads (trace/format.h).
struct StackMemory {
  static constexpr std::size_t kFramesBytes = ByteLog::kHeadBytes + 256 * 1024 * sizeof(LoggedFrame);
  static constexpr std::size_t kStacksBytes = ByteLog::kHeadBytes + (std::size_t{34} << 20);
  std::span<std::byte> frames{};  // empty: in memory of the table's own
  std::span<std::byte> stacks{};
};

// Any thread calls capture(), one thread drain(), and one thread name_new(). A known stack costs a walk and a hash,
// without a lock; a new one takes a mutex. After capture() has returned a number, a later name_new() and drain() give
// its definition, unless earlier ones did. A writer that takes the events first, then names and drains, has every
// definition that the events need.
//
// Memory: at most 131072 stacks of 8 Mi frames together, 262144 frames and 32 MiB of symbols: under 150 MiB, and in a
// usual run a few.
class StackTable {
 public:
  // `walks_native`: whether stacks have native frames; if not, each capture counts as a loss of them.
  explicit StackTable(StringTable& strings, bool walks_native = kWalksNativeFrames, StackMemory memory = {}) noexcept;

  // The number of the calling thread's stack: its native frames, without this library's and the driver's, up to the
  // innermost Python evaluator, then its Python frames. 0: could not. The same stack has the same number for the
  // process's life. A call from within itself (a signal handler) gives 0.
  std::uint32_t capture() noexcept;

  // The number of a frame of Python, and of the stack of such frames, that was looked at from another thread. 0: there
  // is no room, or no memory.
  std::uint32_t enter_frame(const PythonFrameText& text) noexcept;
  std::uint32_t enter_stack(std::span<const std::uint32_t> frames, bool is_truncated) noexcept;

  // Gives the frames that are new the names of their functions. Reads the symbols of their libraries, which may take as
  // long as the disk does. When memory runs out, the rest stays for the next call.
  void name_new(ModuleSymbols& symbols) noexcept;
  bool has_unnamed() noexcept;

  // Appends FrameEntry payloads (trace/format.h) of the frames that were named since the last drain, and StackEntry
  // payloads of the stacks whose frames all have names. If another thread enters a stack meanwhile, a later drain gives
  // it. Drain the strings after this. If memory runs out, the next call gives the rest. The first call that finds a
  // Python asks it to tell of its end.
  void drain(std::vector<std::byte>& frames, std::vector<std::byte>& stacks) noexcept;

  // Appends the frames of a stack, innermost first. False, and nothing is appended: not all of them have their names
  // yet.
  bool copy_frames(std::uint32_t stack, std::vector<trace::FrameEntry>& frames);

  // How much was drained. For the thread that drains.
  std::size_t drained_frames() const noexcept { return drained_frames_; }
  std::size_t drained_stack_bytes() const noexcept { return drained_stack_bytes_; }

  // A new file begins: everything will be drained again. Not while another thread drains.
  void restart() noexcept;

  // Counts since the process started.
  struct Losses {
    std::uint64_t full;             // captures that found no room for a new stack
    std::uint64_t not_walked;       // captures that found no frame at all
    std::uint64_t truncated;        // captures whose stack is cut: too deep, or a frame that could not be walked
    std::uint64_t unnamed_library;  // native frames whose module could not be read for names; each frame once
    std::uint64_t without_native;   // captures without native frames, for want of a walker
    std::uint64_t without_python;   // captures in a process whose Python is not known here
  };
  Losses losses() const noexcept;

 private:
  static constexpr std::uint32_t kNoFile = trace::kUnknownId;

  using FrameKey = std::array<std::uint64_t, 3>;
  struct FrameKeyHash {
    std::size_t operator()(const FrameKey& key) const noexcept;
  };
  struct Stack {
    std::uint32_t first_byte;  // in the log: its StackEntry
    std::uint16_t frame_count;
    std::uint16_t flags;
    std::uint32_t next;  // another stack of the same hash; 0: none
  };
  struct File {
    std::string path;
    std::uint64_t segments_hash;
    bool operator==(const File&) const = default;
  };
  struct Module {
    std::uintptr_t begin;  // of the segment that was asked for
    std::uintptr_t end;
    std::uintptr_t base;
    std::uint32_t file;  // in files_
  };

  std::uint32_t enter(const PythonStack& python, const NativeStack& native, std::uint64_t hash) noexcept;
  std::uint32_t enter_frames(std::uint16_t flags, const std::uint32_t* frames, std::uint32_t count);
  std::uint32_t python_frame(const PythonFrameText& text);
  std::uint32_t native_frame(std::uintptr_t return_address);
  std::uint32_t frame_id(const FrameKey& key, const trace::FrameEntry& entry, std::uint32_t file);
  const Module* module_of(std::uintptr_t address);
  const std::uint32_t* frames_at(std::size_t stack_byte) noexcept;
  bool are_named(std::span<const std::uint32_t> frames) const noexcept;
  std::size_t named_bytes_from(std::size_t stack_byte) noexcept;
  void name(LoggedFrame& frame, ModuleSymbols& symbols);

  StringTable& strings_;
  UnwindTable unwind_table_;
  bool walks_native_;
  WordCache numbers_;  // hash of a walk -> stack id: the fast path
  std::atomic<std::uint64_t> full_{0};
  std::atomic<std::uint64_t> not_walked_{0};
  std::atomic<std::uint64_t> truncated_{0};
  std::atomic<std::uint64_t> unnamed_library_{0};
  std::atomic<std::uint64_t> without_native_{0};
  std::atomic<std::uint64_t> without_python_{0};

  ForkMutex mutex_;  // for all below
  ByteLog frames_;   // of LoggedFrame
  std::unordered_map<FrameKey, std::uint32_t, FrameKeyHash> frame_ids_;
  ByteLog stack_log_;
  std::vector<Stack> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_ids_;  // hash of frame ids -> the first stack of that hash
  std::vector<File> files_;                                     // only ever appended to
  std::vector<Module> modules_;                                 // what stands where since the last unload
  std::uint64_t modules_generation_ = 0;
  std::size_t named_frames_ = 0;
  std::size_t drained_frames_ = 0;
  std::size_t drained_stack_bytes_ = 0;
};

}  // namespace turnpike::record
