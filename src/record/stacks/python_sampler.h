// Looks from outside at where the program's threads are in their Python code, without stopping them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "record/stacks/python_layout.h"
#include "record/stacks/python_reader.h"
#include "record/stacks/python_stack.h"
#include "record/stacks/word_cache.h"

namespace turnpike::record {

class StackTable;
struct PythonRuntime;

// One thread that may look: the collector's. The threads that it looks at run on, so everything is read through the
// kernel and believed only where it is what it should be: the thread is in the interpreter's list, its frames lead to
// code objects, and Python is not ending. What is torn all the same is dropped: a sample that is not there costs
// nothing.
class PythonSampler {
 public:
  struct Thread {
    std::uintptr_t handle;  // its pthread_self()
    std::uint32_t stack;    // out: the number of its stack; 0: it runs no Python now, or could not be seen
  };

  explicit PythonSampler(StackTable& stacks)
      : stacks_(stacks), frame_ids_(kFrameSetsLog2), stack_ids_(kStackSetsLog2) {}

  // Fills in the stacks.
  void look_at(std::span<Thread> threads) noexcept;

 private:
  static constexpr std::size_t kFrameSetsLog2 = 12;
  static constexpr std::size_t kStackSetsLog2 = 12;
  static constexpr std::uint32_t kMaxListed = 4096;

  // Of a code object, all that says which it is: its type, first line, version and pointers to its texts.
  static constexpr std::size_t kHeadBegin = 8;
  static constexpr std::size_t kHeadBytes = kCodeHeadEnd - kHeadBegin;
  using CodeHeads = std::array<std::array<char, kHeadBytes>, kMaxPythonFrames>;

  // A frame when it was last looked at. Outer frames stay where they are, and their texts are not read again.
  struct KnownFrame {
    PythonFrame frame;
    std::uint64_t identity;  // over the head of its code object
    std::uint64_t hash;      // over what it will be called
  };
  struct Known {
    std::uint64_t look = 0;          // the number of the look that it is from
    Pointer root = nullptr;          // the code of the outermost frame
    std::vector<KnownFrame> frames;  // innermost first
  };

  std::uint32_t stack_of(const PythonRuntime& python, Pointer thread, std::uintptr_t handle);
  bool walk(const PythonRuntime& python, Pointer thread) noexcept;
  bool find_frames(const PythonRuntime& python, Pointer thread, Pointer& root) noexcept;
  bool read_heads(const PythonRuntime& python) noexcept;
  bool hash_frames(const PythonRuntime& python, Known& known);
  std::uint32_t frame_id(const PythonRuntime& python, const PythonFrame& frame, std::uint64_t hash);

  StackTable& stacks_;
  WordCache frame_ids_;                              // hash of a frame -> its number
  WordCache stack_ids_;                              // hash of hashes -> the number of the stack
  std::unordered_map<std::uintptr_t, Known> known_;  // by handle
  CarefulReader reader_;
  PythonStack stack_;
  CodeHeads heads_;
  std::uint64_t look_ = 0;
  bool is_forbidden_ = false;
};

}  // namespace turnpike::record
