// The frames of a stack.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/process.h"

namespace turnpike::trace {

// Innermost first. Frames that the process does not define are left out; the reader has counted them.
inline std::vector<const Frame*> frames_of(const Process& process, std::uint32_t stack) {
  std::vector<const Frame*> frames;
  const auto found = process.stacks.find(stack);
  if (!found) return frames;
  for (const std::uint32_t id : found->frames) {
    const auto frame = process.frames.find(id);
    if (frame != process.frames.end()) frames.push_back(&frame->second);
  }
  return frames;
}

}  // namespace turnpike::trace
