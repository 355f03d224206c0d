// What a source knows of one process besides its records: who it is, and what the ids in the records mean.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/source_text.h"
#include "trace/format.h"
#include "trace/stack_table.h"

namespace turnpike::trace {

struct Frame {
  FrameKind kind;
  std::string function;          // Python: qualified name; native: mangled symbol; empty when unknown
  std::string file;              // Python: source file; native: path of the module
  std::uint32_t line = 0;        // executing line; 0: unknown
  std::uint32_t first_line = 0;  // line of the `def`; 0: unknown
  std::uint64_t module_offset = 0;
  bool is_compiled = false;  // a line that a compiler made the frame before it from (SourceEntry)
};

struct Process {
  std::string path;  // of the file
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::int64_t start_realtime_ns = kUnknownTime;
  // Where the oldest segment that was kept of a recording with `--last` begins; kUnknownTime for any other.
  std::int64_t kept_since_ns = kUnknownTime;
  std::map<std::string, std::string> metadata;  // keys: docs/format.md
  std::unordered_map<std::uint32_t, std::string> strings;
  std::unordered_map<std::uint32_t, Frame> frames;
  StackTable stacks;
  std::vector<ClockSample> clock_samples;
  SourceText source_text;
  std::map<std::uint32_t, std::uint64_t> losses;  // by number of Loss: the recorder's and the reader's
  std::optional<EndEntry> end;                    // none: the file was not closed

  // "" for ids that are kNoId or undefined.
  const std::string& string(std::uint32_t id) const {
    static const std::string kEmpty;
    const auto found = strings.find(id);
    return found == strings.end() ? kEmpty : found->second;
  }
};

}  // namespace turnpike::trace
