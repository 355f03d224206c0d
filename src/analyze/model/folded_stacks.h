// The stacks that a report gives up the paths of: a program whose calls come from very many would make it too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

inline constexpr std::size_t kAllStacks = std::numeric_limits<std::size_t>::max();

// Not safe for several threads.
class FoldedStacks {
 public:
  // Keeps a reference to `process`. Where it has more than `max_full` stacks, those stay whole whose copies, waits and
  // other calls, launches apart, took the most time.
  FoldedStacks(const trace::Process& process, const Timeline& timeline, std::size_t max_full);

  bool is_whole(std::uint32_t stack) const {
    return is_whole_.empty() || (stack < is_whole_.size() && is_whole_[stack]);
  }
  // What is left of the frames of a stack that is not whole, innermost first: the native ones, those that tell the
  // phase, and the line of the program, or of a library where none of the program is there. Where there are more than
  // `max_full` of these, the line alone is left, and where there are more than that of lines, nothing. The same object
  // for equal frames, as long as this one.
  const std::vector<std::uint32_t>& rest_of(std::uint32_t stack);
  // The stacks of copies, waits and allocations that are not whole.
  std::size_t count() const { return count_; }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& frames) const;
  };
  // What a frame is to a folded stack.
  enum class Part : std::uint8_t { kUndefined, kNative, kProgram, kPhase, kLibrary };

  Part part_of(std::uint32_t frame) const { return frame < parts_.size() ? parts_[frame] : part_in(process_, frame); }
  static Part part_in(const trace::Process& process, std::uint32_t frame);
  std::uint32_t line_of(std::span<const std::uint32_t> frames) const;
  const std::vector<std::uint32_t>* keep(const std::vector<std::uint32_t>& frames, std::size_t& room);

  const trace::Process& process_;
  std::vector<bool> is_whole_;  // by stack; empty: all are
  std::size_t count_ = 0;
  std::vector<Part> parts_;  // by frame
  std::size_t room_for_rests_;
  std::size_t room_for_lines_;
  std::unordered_set<std::vector<std::uint32_t>, Hash> rests_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace turnpike::analyze
